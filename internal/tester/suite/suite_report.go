package suite

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitMessage `xml:"failure"`
	Skipped   *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the results as JUnit XML, for continuous integration.
func WriteJUnit(w io.Writer, results []*SuiteResult) error {
	var all junitSuites
	var total time.Duration
	for _, r := range results {
		s := junitSuite{Name: r.Path, Tests: len(r.Results), Failures: r.Failed()}
		var took time.Duration
		for _, t := range r.Results {
			c := junitCase{Name: t.Name, ClassName: r.Path, Time: seconds(t.Took)}
			switch t.Status {
			case "failed":
				c.Failure = &junitMessage{Message: t.Problems[0], Text: strings.Join(t.Problems, "\n")}
			case "skipped":
				s.Skipped++
				c.Skipped = &junitMessage{Message: strings.Join(t.Problems, "; ")}
			}
			took += t.Took
			s.Cases = append(s.Cases, c)
		}
		s.Time = seconds(took)
		total += took
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Skipped += s.Skipped
		all.Suites = append(all.Suites, s)
	}
	all.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
