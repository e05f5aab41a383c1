package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// A shell is one that completions are there for.
type shellScript struct {
	name  string
	how   string // to install it
	write func(root *cobra.Command, w io.Writer, plain bool) error
}

var shells = []shellScript{
	{"bash", `It needs the package bash-completion.

  in this shell:   source <(uzda completion bash)
  in every shell:  mkdir -p ~/.local/share/bash-completion/completions
                   uzda completion bash > ~/.local/share/bash-completion/completions/uzda`,
		func(root *cobra.Command, w io.Writer, plain bool) error { return root.GenBashCompletionV2(w, !plain) }},
	{"zsh", `  in this shell:   source <(uzda completion zsh)
  in every shell:  mkdir -p ~/.zfunc
                   uzda completion zsh > ~/.zfunc/_uzda
  and once, above everything in ~/.zshrc that completes:
                   fpath=(~/.zfunc $fpath)
                   autoload -U compinit && compinit`,
		func(root *cobra.Command, w io.Writer, plain bool) error {
			if plain {
				return root.GenZshCompletionNoDesc(w)
			}
			return root.GenZshCompletion(w)
		}},
	{"fish", `  in this shell:   uzda completion fish | source
  in every shell:  uzda completion fish > ~/.config/fish/completions/uzda.fish`,
		func(root *cobra.Command, w io.Writer, plain bool) error { return root.GenFishCompletion(w, !plain) }},
	{"powershell", `  in this shell:   uzda completion powershell | Out-String | Invoke-Expression
  in every shell:  uzda completion powershell >> $PROFILE`,
		func(root *cobra.Command, w io.Writer, plain bool) error {
			if plain {
				return root.GenPowerShellCompletion(w)
			}
			return root.GenPowerShellCompletionWithDesc(w)
		}},
}

// completionCommand prints what makes a shell complete our commands.
func (a *app) completionCommand() *cobra.Command {
	top := &cobra.Command{Use: "completion", Short: "what makes your shell complete commands, sessions and models", Args: none,
		Long: `Completion prints a script for your shell. With it the Tab key completes commands and
flags, and what they take: sessions (the last changed first), calls that wait, agents,
models, providers, tools. It reads your settings and your store, and changes neither.`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	for _, s := range shells {
		plain := false
		c := &cobra.Command{Use: s.name, Short: "for " + s.name, Args: none,
			Long: "Prints the script that makes " + s.name + " complete what uzda takes.\n\n" + s.how}
		c.Flags().BoolVar(&plain, "no-descriptions", false, "words only, without what they mean")
		c.RunE = func(c *cobra.Command, _ []string) error {
			if a.out.tty { // a person who looks for what to do with it
				fmt.Fprintf(a.err, "uzda: `uzda completion %s --help` says how to install this\n", s.name)
			}
			return s.write(c.Root(), a.out, plain)
		}
		top.AddCommand(c)
	}
	return top
}
