// Command cmd reads the events of "go test -json" from standard input, prints
// what people want to know, and exits 1 if a test failed or none ran.
package main

import (
	"fmt"
	"os"

	"github.com/uzda-dev/uzda/internal/testsum"
)

func main() {
	s, err := testsum.Read(os.Stdin, os.Stdout, 10)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Println(s)
	if err != nil || s.Failed > 0 || s.Passed == 0 {
		os.Exit(1)
	}
}
