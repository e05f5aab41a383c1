package policy

import (
	"path/filepath"
	"slices"
	"strings"
)

// Some files are asked about whatever a wildcard allows: those that steer this
// program or run by themselves later, and those that hold credentials.

// steering are names of files, and of folders with all that is in them, that
// change what runs or what an agent is told.
var steering = set(`uzda.yaml uzda.local.yaml uzda.yml .uzda .mcp.json agents.md claude.md claude.local.md gemini.md .claude .cursor .codex .gemini
	skills .git .gitconfig .gitmodules .githooks .husky .envrc .vscode .idea .devcontainer
	.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .inputrc .kshrc .cshrc .tcshrc .login
	.xprofile .xinitrc .xsessionrc .pam_environment authorized_keys .forward .procmailrc .vimrc .emacs .tmux.conf .screenrc .wgetrc .curlrc .gdbinit .pythonrc`)

// secret are those that hold credentials.
var secret = set(`.ssh .gnupg .aws .azure .kube .netrc _netrc .npmrc .yarnrc.yml .pypirc .pgpass .my.cnf .git-credentials .htpasswd .vault-token
	.terraformrc id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk`)

// pairs are a folder and what lies in it, for names that mean something only there.
var (
	steeringPairs = [][2]string{{"agents", "*.md"}, {".github", "workflows"}, {".config", "fish"}, {".config", "uzda"}, {".config", "git"}, {".config", "autostart"},
		{".config", "systemd"}, {"share", "uzda"}, {"application support", "uzda"}, {"library", "launchagents"}}
	secretPairs = [][2]string{{".config", "gh"}, {".config", "gcloud"}, {".docker", "config.json"}, {".cargo", "credentials*"}, {".gem", "credentials"}, {".m2", "settings.xml"}, {"etc", "shadow*"}, {"etc", "gshadow*"}}
)

func set(names string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

// protected says why a path is asked about always, "" if it is not. What a root
// itself is called counts only for credentials: people work where they like.
func (at ground) protected(t touch) string {
	for i, name := range t.names {
		segs := t.folds[i]
		from := 0
		for _, r := range at.roots {
			if under(r, name) {
				from = max(from, strings.Count(r, string(filepath.Separator)))
			}
		}
		for i, s := range segs {
			next := ""
			if i+1 < len(segs) {
				next = segs[i+1]
			}
			if why := guard(s, next, segs[len(segs)-1], t.write, i >= from, i == len(segs)-1); why != "" {
				return why
			}
		}
		if t.write && lies(name, at.own) {
			return "it belongs to Uzda itself"
		}
	}
	return ""
}

// guard looks at one segment of a path and at the one after it; ours: it lies
// below a root, end: it is the file.
func guard(s, next, file string, write, ours, end bool) string {
	public := !write && (strings.HasSuffix(file, ".pub") || strings.HasPrefix(file, "known_hosts"))
	switch {
	case secret[s] && !public, pair(secretPairs, s, next), end && credential(s):
		if write || !sample(s) {
			return "it holds credentials"
		}
	case write && ours && (steering[s] || pair(steeringPairs, s, next)):
		return "it changes what runs or what an agent is told"
	}
	return ""
}

// credential says whether a file's name tells that it holds secrets.
func credential(s string) bool {
	if strings.HasPrefix(s, ".env") && (len(s) == 4 || strings.ContainsAny(s[4:5], "._-r~")) {
		return true
	}
	if strings.HasPrefix(s, "id_") && slices.ContainsFunc([]string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}, func(p string) bool { return strings.HasPrefix(s, p) }) {
		return !strings.HasSuffix(s, ".pub")
	}
	switch filepath.Ext(s) {
	case ".pem", ".p12", ".pfx", ".kdbx", ".keystore", ".jks", ".ppk":
		return true
	}
	return false
}

// sample says whether a file only shows what one with secrets would look like.
func sample(s string) bool {
	for _, end := range []string{".example", ".sample", ".template", ".dist"} {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

func pair(pairs [][2]string, s, next string) bool {
	for _, p := range pairs {
		if p[0] == s && next != "" && segment(p[1], next) {
			return true
		}
	}
	return false
}
