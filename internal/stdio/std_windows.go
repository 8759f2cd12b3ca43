package stdio

import "os"

func standardFiles() (in, out *os.File) { return os.Stdin, os.Stdout }
