package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// manualCommand prints the manual page. It is not listed: whoever packs the program
// calls it, as release.sh does.
func (a *app) manualCommand() *cobra.Command {
	return &cobra.Command{Use: "manual", Short: "the manual page, for man", Hidden: true, Args: none,
		Long: "Manual prints the page that `man uzda` shows:\n\n" +
			"  mkdir -p ~/.local/share/man/man1\n  uzda manual > ~/.local/share/man/man1/uzda.1",
		RunE: func(c *cobra.Command, _ []string) error {
			writeManual(a.out, c.Root(), this().Version)
			return nil
		}}
}

// writeManual writes one page about all commands, in the language of man. It has no
// date, so that the same program gives the same page.
func writeManual(w io.Writer, root *cobra.Command, version string) {
	fmt.Fprintf(w, ".TH UZDA 1 \"\" \"uzda %s\" \"Uzda\"\n", roff(version))
	fmt.Fprintf(w, ".SH NAME\nuzda \\- %s\n", roff(root.Short))
	fmt.Fprint(w, ".SH SYNOPSIS\n.B uzda\n.I COMMAND\n[flags]\n")
	fmt.Fprintf(w, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(root.Long))
	fmt.Fprint(w, ".SH COMMANDS\n")
	manualOf(w, root)
	fmt.Fprint(w, ".SH \"EXIT STATUS\"\n"+
		"0 when it is done, 2 for a wrong flag or setting, 4 when a fuse stopped it, 8 when it waits for a person.\n"+
		"Commands that check exit 0 or 13. The page about exit codes has them all.\n")
	fmt.Fprint(w, ".SH FILES\n.TP\n.I uzda.yaml\nsettings of the folder, and of those above it\n"+
		".TP\n.I ~/.config/uzda/uzda.yaml\nyour own settings; \\fBuzda config\\fR says where each value comes from\n"+
		".TP\n.I ~/.local/share/uzda\nsessions and what belongs to them; UZDA_HOME names another folder for both\n")
}

// manualOf writes a section for each command below one.
func manualOf(w io.Writer, above *cobra.Command) {
	for _, c := range above.Commands() {
		if !c.IsAvailableCommand() || c.Name() == "help" {
			continue
		}
		if c.Runnable() {
			fmt.Fprintf(w, ".SS \"%s\"\n", roff(strings.ReplaceAll(c.UseLine(), `"`, `'`)))
			about := c.Long
			if about == "" {
				about = strings.ToUpper(c.Short[:1]) + c.Short[1:] + "."
			}
			fmt.Fprintf(w, ".nf\n%s\n", roff(about))
			if c.Example != "" {
				fmt.Fprintf(w, "\n%s\n", roff(c.Example))
			}
			if c.HasAvailableFlags() {
				fmt.Fprintf(w, "\n%s\n", roff(strings.TrimRight(c.Flags().FlagUsagesWrapped(72), "\n")))
			}
			fmt.Fprint(w, ".fi\n")
		}
		manualOf(w, c)
	}
}

// roff writes text so that none of it is a command for man.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	rows := strings.Split(text, "\n")
	for i, r := range rows {
		if strings.HasPrefix(r, ".") || strings.HasPrefix(r, "'") {
			rows[i] = `\&` + r
		}
	}
	return strings.Join(rows, "\n")
}
