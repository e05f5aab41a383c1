// Command cmd prints how big the code of a checkout is and how it is cut:
//
//	go run ./internal/arch/cmd [FOLDER...]
//
// The folders are those to count, as paths in the checkout; with none, all.
package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/uzda-dev/uzda/internal/arch"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(folders []string) error {
	tree, err := arch.Open(".")
	if err != nil {
		return err
	}
	for i, f := range folders {
		folders[i] = path.Clean(filepath.ToSlash(f))
	}
	figures := tree.Figures(folders...)
	if figures.Files+figures.TestFiles == 0 {
		return fmt.Errorf("there is no Go code in %q; run this in the root of the checkout", folders)
	}
	return figures.Print(os.Stdout)
}
