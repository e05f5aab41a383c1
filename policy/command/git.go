package command

import (
	"slices"
	"strings"
)

// A verb is what one of git's commands does with these options.
type verb struct {
	options string
	level   Level
	why     string
	spell   int  // 0: a rule that spells the verb is enough
	plain   bool // only without operands; with some it makes or changes something
}

const (
	showOptions = "-pPuswbMCzWRaiEFqx -U= -n= -S= -G= -L= -O< -# --patch --no-patch --stat? --numstat --shortstat --dirstat? --name-only --name-status --summary --color? --no-color --word-diff? --color-words? --unified= " +
		"--cached --staged --merge-base --check --raw --full-index --abbrev? --minimal --patience --histogram --diff-algorithm= --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines " +
		"--ignore-cr-at-eol --function-context --exit-code --quiet --diff-filter= --find-renames? --find-copies? --no-renames --relative? --no-ext-diff --no-textconv --text --submodule? --compact-summary --no-prefix --inter-hunk-context= --indent-heuristic --no-index "
	logOptions = showOptions + "--oneline --graph --decorate? --no-decorate --all --since= --until= --after= --before= --author= --committer= --grep= --max-count= --skip= --format= --pretty? --abbrev-commit --no-abbrev-commit " +
		"--date= --reverse --merges --no-merges --first-parent --follow --branches? --tags? --remotes? --left-right --cherry-pick --cherry-mark --topo-order --date-order --author-date-order --full-history --simplify-by-decoration " +
		"--invert-grep --all-match --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --boundary --walk-reflogs -g --no-walk --source --notes? --no-notes --root --relative-date --parents --children --count --objects --show-pulls --ancestry-path -m -c -t"
)

// verbs are git's commands.
var verbs = map[string]verb{
	"status":        {options: "-sbvzu? -s -b -v -z -uno --short --branch --porcelain? --long --verbose --untracked-files? --ignored? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --show-stash --ignore-submodules?"},
	"diff":          {options: showOptions},
	"show":          {options: logOptions},
	"log":           {options: logOptions},
	"whatchanged":   {options: logOptions},
	"shortlog":      {options: "-snec -w? --summary --numbered --email --committer --group= --format= --since= --until= --after= --before= --author= --grep= --all --merges --no-merges --branches? --tags? --remotes? --first-parent"},
	"reflog":        {options: logOptions},
	"rev-list":      {options: logOptions},
	"rev-parse":     {options: "-q --verify --short? --abbrev-ref? --symbolic-full-name --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir --is-inside-work-tree --is-bare-repository --is-inside-git-dir --all --branches? --tags? --remotes? --quiet --symbolic --show-superproject-working-tree"},
	"ls-files":      {options: "-cdmosiuktvzf --cached --deleted --modified --others --ignored --stage --exclude-standard --exclude= -x= --full-name --error-unmatch --unmerged --abbrev? --eol"},
	"ls-tree":       {options: "-drtlz --long --name-only --name-status --full-name --full-tree --abbrev? --format="},
	"blame":         {options: "-lteswpfnbCMc -L= -S< --line-porcelain --porcelain --show-email --date= --abbrev= --root --show-name --show-number --since= --reverse"},
	"annotate":      {options: "-l -L="},
	"describe":      {options: "--tags --all --always --long --dirty? --abbrev= --match= --exclude= --contains --exact-match --first-parent --candidates="},
	"cat-file":      {options: "-tspe"},
	"merge-base":    {options: "-a --all --is-ancestor --octopus --independent --fork-point"},
	"name-rev":      {options: "--tags --name-only --all --always --refs= --exclude= --no-undefined"},
	"for-each-ref":  {options: "--format= --sort= --count= --merged? --no-merged? --contains? --no-contains? --points-at= --exclude= --ignore-case --color? -s -p"},
	"show-ref":      {options: "-hds --head --heads --tags --verify --hash? --dereference --quiet -q"},
	"show-branch":   {options: "-ar --all --list --current"},
	"count-objects": {options: "-vH"},
	"diff-tree":     {options: showOptions + "-r -t -v -m -c --root --no-commit-id --stdin --cc"},
	"diff-index":    {options: showOptions + "-m"},
	"diff-files":    {options: showOptions},
	"check-ignore":  {options: "-vqnz --verbose --quiet --no-index --non-matching"},
	"cherry":        {options: "-v --abbrev?"},
	"range-diff":    {options: showOptions + "--creation-factor="},
	"grep":          {options: "-nlLciwvEFGPhHoqaIrWp -e= -A= -B= -C= -m= --line-number --name-only --files-with-matches --files-without-match --count --ignore-case --word-regexp --invert-match --cached --untracked --show-function --function-context --heading --break --color? --max-depth= --all-match --and --or --not --only-matching --column --extended-regexp --fixed-strings --perl-regexp --recurse-submodules --quiet --full-name"},
	"symbolic-ref":  {options: "-q --quiet --short --no-recurse"},
	"version":       {},
	"var":           {},

	"branch":    {options: "-arvqi --all --remotes --list -l --verbose --show-current --merged? --no-merged? --contains? --no-contains? --sort= --format= --points-at= --color? --no-color --column? --abbrev? --no-abbrev --ignore-case", plain: true},
	"tag":       {options: "-li -n? --list --sort= --format= --merged? --no-merged? --contains? --no-contains? --points-at= --column? --color?", plain: true},
	"remote":    {options: "-v --verbose", plain: true},
	"notes":     {plain: true},
	"worktree":  {plain: true},
	"stash":     {plain: true},
	"submodule": {plain: true},
	"config":    {options: "--get --get-all --get-regexp --list -l --local --global --system --show-origin --show-scope --name-only --bool --int --path --null -z --type= --default="},

	"add":          {options: "-AuvnfNi --all --update --verbose --dry-run --force --intent-to-add --ignore-errors", level: Changes, why: "it changes what the next commit holds"},
	"stage":        {options: "-Auvn --all", level: Changes, why: "it changes what the next commit holds"},
	"mv":           {options: "-vnk", level: Changes, why: "it moves files"},
	"rm":           {options: "-rnq --cached --dry-run --ignore-unmatch --quiet", level: Changes, why: "it removes files"},
	"switch":       {options: "-cdqC= -c= -t --create= --detach --track? --quiet --guess --no-guess", level: Changes, why: "it changes the files to another branch"},
	"checkout":     {options: "-b= -qdt --quiet --detach --track? --no-track --orphan= --ours --theirs", level: Changes, why: "it changes the files to another branch"},
	"restore":      {options: "--staged -S", level: Changes, why: "it changes what the next commit holds"},
	"reset":        {options: "-q --soft --mixed --quiet", level: Changes, why: "it changes what the next commit holds"},
	"init":         {options: "-qb= -b= --initial-branch= --quiet --bare", level: Changes, why: "it makes a repository"},
	"update-index": {options: "--refresh --really-refresh -q", level: Changes, why: "it changes the index"},

	"fetch":     {options: "-apqtvn4 --all --prune --tags --quiet --verbose --dry-run --depth= --no-tags --unshallow --progress --prune-tags", level: Unknown, why: "it reaches beyond this machine", spell: 2},
	"clone":     {options: "-qb= -b= --depth= --branch= --quiet --single-branch --no-tags --progress --bare --no-checkout -n", level: Unknown, why: "it reaches beyond this machine", spell: 2},
	"ls-remote": {options: "-htqs --heads --tags --refs --quiet --symref", level: Unknown, why: "it reaches beyond this machine", spell: 2},
	"help":      {level: Unknown, why: "it shows text with a program that can start others", spell: 2},
}

// hooks are commands that may run what the repository's hooks hold, or programs
// that its settings name: a rule must spell all of their words.
const hooks = "commit merge rebase pull push am cherry-pick revert apply gc repack maintenance bisect filter-branch filter-repo submodule difftool mergetool send-email daemon instaweb gui citool svn p4 archive bundle hook fast-import replace update-ref sparse-checkout lfs credential"

// A repository can name programs that git starts when it only shows something:
// core.fsmonitor, diff.external, diff.NAME.command and textconv, filter.NAME.clean
// (also for diff and status), gpg.program with log.showSignature, the hook
// post-index-change. Attributes choose among them and come with a clone, but all of
// them are named in .git, which does not. An archive brings one, and a folder that is
// itself made like a .git does come with a clone: who reads the report looks at the
// repository, see Part.Git. The shell tool makes git refuse the latter
// (safe.bareRepository), and switches fsmonitor and the pager off. Options that bring
// settings of their own (-c, --exec-path, --git-dir) are asked about, and so are
// those that ask for such programs (--ext-diff, --textconv, --show-signature).

// git judges git by its command and its options.
func (c *call) git() {
	s := scanWords(c.words, "-P -C= --no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-replace-objects --version -v --no-lazy-fetch --no-advice", first)
	if s.stray != "" {
		c.readsAll()
		c.whole("git's option " + shown(s.stray) + " may start a program or name another repository")
		c.gitDanger(c.words)
		return
	}
	if dir, ok := s.last("-C"); ok {
		n := 0
		for _, o := range s.options {
			if o.name == "-C" {
				n++
			}
		}
		c.sc.dirs = c.folder(dir, n)
		c.reads(here())
	}
	c.part.Git = c.sc.dirs
	if slices.Contains(c.sc.dirs, "") {
		c.reads(here())
	}
	if len(s.operands) == 0 {
		if !s.has("--version", "-v") {
			c.unknown("it names no command of git")
		}
		return
	}
	name := s.operands[0]
	list := s.operands[1:]
	if !name.Known {
		c.whole("the command of git is not known before it runs")
		return
	}
	c.gitVerb(name.Text, list, s.rest+2)
	c.gitDanger(s.operands)
}

// folder is where git -C goes.
func (c *call) folder(dir arg, n int) []string {
	if n != 1 {
		return []string{""}
	}
	var out []string
	for _, p := range dir.paths(c.sc.dirs) {
		if p.Glob {
			p.Abs = ""
		}
		out = join(out, []string{p.Abs})
	}
	return out
}

func (c *call) gitVerb(name string, list []arg, place int) {
	v, ok := verbs[name]
	if !ok {
		c.gitOther(name, list)
		c.unknown("it may run hooks or programs that the repository names")
		c.spell(place)
		if slices.Contains(strings.Fields(hooks), name) {
			c.part.Spell = All
		}
		return
	}
	if sub := subverb(name, list); sub != "" {
		c.gitSub(name, sub, list)
		return
	}
	s := scanWords(list, v.options, gnu)
	if s.stray != "" {
		c.readsWords(list)
		c.part.raise(v.level, v.why)
		c.whole("the option " + shown(s.stray) + " of git " + name + " is not known to be harmless")
		c.outputs(list)
		c.gitFiles(name, list, v.options, s)
		return
	}
	c.part.raise(v.level, v.why)
	if v.spell > 0 {
		c.spell(place)
	}
	if v.plain && len(s.operands) > 0 && !s.has("-l", "--list", "--merged", "--no-merged", "--contains", "--no-contains", "--points-at") {
		c.part.raise(Changes, "it makes or changes a name in the repository")
		c.part.Spell = All
	}
	for _, o := range s.options {
		if strings.Contains(o.name, "format") || o.name == "--pretty" || o.name == "--sort" {
			if !o.value.Known || strings.Contains(o.value.Text, "%G") || strings.Contains(o.value.Text, "signature") {
				c.whole("it checks signatures with a program that the repository names")
			}
		}
	}
	if name == "config" {
		c.gitConfig(s)
	}
	if name == "symbolic-ref" && len(s.operands) > 1 {
		c.whole("it changes which branch is meant")
	}
	c.gitFiles(name, list, v.options, s)
}

// outputs finds files that options of git write.
func (c *call) outputs(list []arg) {
	for i, w := range list {
		if strings.HasPrefix(w.lead, "--output=") {
			c.writes(w.from(len("--output=")))
		} else if (w.Text == "--output" || w.Text == "--output-directory" || w.Text == "-o") && i+1 < len(list) {
			c.writes(list[i+1])
		} else if strings.HasPrefix(w.lead, "--output-directory=") {
			c.writes(w.from(len("--output-directory=")))
		} else if strings.HasPrefix(w.lead, "-o") {
			c.writes(w.from(2))
		}
	}
}

// subverb is the second word of commands that have several.
func subverb(name string, list []arg) string {
	switch name {
	case "stash", "worktree", "submodule", "notes", "remote", "reflog", "config":
		if name == "config" && len(list) == 1 && strings.Contains(list[0].Text, ".") {
			return "" // it shows the setting
		}
		if name == "reflog" && len(list) > 0 && list[0].Known && !slices.Contains([]string{"show", "list", "exists", "expire", "delete"}, list[0].Text) {
			return "" // it shows that of a branch
		}
		if len(list) > 0 && list[0].Known && !strings.HasPrefix(list[0].Text, "-") {
			return list[0].Text
		}
		if name == "stash" {
			return "push"
		}
	}
	return ""
}

const stashOptions = "-pkuaqS -m= --patch --keep-index --no-keep-index --include-untracked --all --quiet --staged --message= --index"

func (c *call) gitSub(name, sub string, list []arg) {
	shows := map[string]string{
		"stash list": logOptions, "stash show": showOptions, "worktree list": "-v --porcelain", "notes list": "", "notes show": "",
		"remote get-url": "--all --push", "reflog show": logOptions, "config list": "--local --global --show-origin --name-only", "config get": "--local --global --all",
		"submodule status": "--cached --recursive --quiet -q", "reflog list": "", "reflog exists": "",
	}
	if table, ok := shows[name+" "+sub]; ok {
		s := scanWords(list[1:], table, gnu)
		for _, o := range s.options {
			if strings.Contains(o.name, "format") || o.name == "--pretty" {
				if !o.value.Known || strings.Contains(o.value.Text, "%G") {
					s.strays(o.name)
				}
			}
		}
		if s.stray != "" {
			c.whole("the option " + shown(s.stray) + " of git " + name + " is not known to be harmless")
			c.outputs(list)
		}
		c.gitFiles(name+" "+sub, list[1:], table, s)
		return
	}
	switch name {
	case "stash":
		words := list[min(1, len(list)):]
		if _, specs := scanWords(words, stashOptions, gnu).apart(words, stashOptions); len(specs) > 0 {
			c.pathspecs(specs, true)
		} else if sub != "drop" && sub != "clear" && sub != "create" && sub != "store" {
			c.whole1(true)
		}
	case "submodule":
		c.whole1(true)
	case "worktree":
		c.writes(scanWords(list[1:], "-fdq -b= -B= --force --detach --checkout --no-checkout --lock --orphan --quiet --track --guess-remote --reason=", gnu).operands...)
		for i := range c.part.Writes {
			c.part.Writes[i].Deep = true
		}
	}
	if name == "stash" && slices.Contains([]string{"push", "save", "pop", "apply", "branch", "create", "store"}, sub) {
		c.part.raise(Changes, "it puts changes away or back")
		return
	}
	c.whole("git " + name + " " + shown(sub) + " changes the repository or its settings")
}

// gitConfig judges git config: it shows a setting, or changes what git runs.
func (c *call) gitConfig(s scan) {
	if shows := len(s.operands) == 1 && s.operands[0].Known && strings.Contains(s.operands[0].Text, "."); !shows && !s.has("--get", "--get-all", "--get-regexp", "--list", "-l") {
		c.whole("it changes settings, which may name programs")
	}
}

// gitDanger looks for what loses work.
func (c *call) gitDanger(words []arg) {
	at := 0
	for at < len(words) && strings.HasPrefix(words[at].Text, "-") {
		at++
	}
	if at == len(words) {
		return
	}
	list := words[at+1:]
	has := func(names ...string) bool {
		for _, w := range list {
			if w.Known && w.Text == "--" {
				return false
			}
			for _, n := range names {
				if w.Text == n || strings.HasPrefix(w.Text, n+"=") || len(n) == 2 && strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, n[1:]) ||
					strings.HasPrefix(n, "--") && len(w.Text) > 3 && strings.HasPrefix(n, w.Text) {
					return true
				}
			}
		}
		return false
	}
	why := ""
	switch words[at].Text {
	case "clean":
		if why = "it removes files that git does not know"; has("-n", "--dry-run") && !has("-f", "--force") {
			why = ""
		}
	case "reset":
		if has("--hard", "--merge", "--keep") {
			why = "it throws changes away"
		}
	case "push":
		if has("-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d", "--prune") || slices.ContainsFunc(list, func(a arg) bool { return strings.HasPrefix(a.Text, "+") || strings.HasPrefix(a.Text, ":") }) {
			why = "it throws commits away on another machine"
		}
	case "checkout":
		if has("-f", "--force", "-B") || slices.ContainsFunc(list, func(a arg) bool { return a.Text == "--" || a.Text == "." || strings.HasPrefix(a.Text, "./") }) {
			why = "it throws changes away"
		}
	case "switch":
		if has("-f", "--force", "--discard-changes", "-C") {
			why = "it throws changes away"
		}
	case "restore":
		if !has("--staged", "-S") || has("--worktree", "-W") {
			why = "it throws changes away"
		}
	case "branch":
		if has("-D", "-M", "-C", "-f", "--force") {
			why = "it throws commits away"
		}
	case "rm":
		if has("-f", "--force") {
			why = "it removes files with their changes"
		}
	case "stash", "reflog":
		if len(list) > 0 && slices.Contains([]string{"drop", "clear", "expire", "delete"}, list[0].Text) {
			why = "it throws commits away"
		}
	case "filter-branch", "filter-repo", "prune", "gc":
		why = "it throws commits away"
	case "worktree":
		if len(list) > 0 && list[0].Text == "remove" {
			why = "it removes a folder"
		}
	}
	if why != "" {
		c.part.raise(Dangerous, why)
	}
}
