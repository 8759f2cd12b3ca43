package env

import (
	"strings"

	"github.com/spf13/pflag"
)

// FirstWord returns the index of the first argument that is neither a flag nor
// the value of a flag; -1 if there is none.
func FirstWord(flags *pflag.FlagSet, args []string) int {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" || word == "" {
			return -1
		}
		if word[0] != '-' {
			return i
		}
		if strings.Contains(word, "=") {
			continue
		}
		flag := flags.Lookup(strings.TrimLeft(word, "-"))
		if flag == nil && len(word) == 2 {
			flag = flags.ShorthandLookup(word[1:])
		}
		if flag == nil {
			return -1
		}
		if flag.NoOptDefVal == "" {
			i++
		}
	}
	return -1
}
