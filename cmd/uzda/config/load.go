package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The names of the files.
const (
	FileName  = "uzda.yaml"
	LocalName = "uzda.local.yaml" // beside it, not committed, and stronger
)

// Options are what Load depends on; it looks at nothing else but the files.
type Options struct {
	Dir   string              // the working directory; default the process's
	Env   []string            // in the form of os.Environ
	Flags map[string][]string // the flags that were given, by name without dashes; only those of Keys
	Home  string              // home folder; default that of Env
	OS    string              // default runtime.GOOS
}

// A loader collects the layers, the weakest first.
type loader struct {
	Options
	env    map[string]string
	home   string
	config *Config
	faults Faults
	named  map[string]string // models that a file names, with where

	leftOut []string // what an untrusted project would have loosened, with where
}

// Load reads all settings: flag over environment over uzda.local.yaml over
// uzda.yaml of the project over that of the user over default. An error that is
// a mistake in the settings is a [Faults], with all that could be found at once.
func Load(o Options) (*Config, error) {
	l := &loader{Options: o, env: map[string]string{}, named: map[string]string{}}
	for _, e := range o.Env {
		if name, value, ok := strings.Cut(e, "="); ok {
			l.env[name] = value
		}
	}
	if err := l.places(); err != nil {
		return nil, err
	}
	l.config = &Config{Models: map[string]Model{}, origins: map[string]string{}, leftOut: map[string]string{}, env: l.env}
	l.defaults()
	l.files()
	l.environment()
	l.flags()
	l.finish()
	if len(l.faults) > 0 {
		return nil, l.faults
	}
	return l.config, nil
}

func (l *loader) places() error {
	if l.OS == "" {
		l.OS = runtime.GOOS
	}
	if l.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find the working directory: %w", err)
		}
		l.Dir = dir
	}
	dir, err := filepath.Abs(l.Dir)
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	l.Dir = dir
	l.home = l.Home
	if l.home == "" {
		l.home = l.env["HOME"]
	}
	if l.home == "" && l.OS == "windows" {
		l.home = l.env["USERPROFILE"]
	}
	return nil
}

func (l *loader) fault(where, key, format string, args ...any) {
	l.faults = append(l.faults, Fault{where, key, fmt.Sprintf(format, args...)})
}

func (l *loader) warn(format string, args ...any) {
	l.config.Warnings = append(l.config.Warnings, fmt.Sprintf(format, args...))
}

// set stores a value and where it came from. Rules carry that themselves.
func (l *loader) set(k Key, v any, origin string) {
	k.store(k.field(l.config), v)
	l.config.origins[k.Name] = origin
}

func (l *loader) defaults() {
	for _, k := range keys {
		if k.Default == "" {
			continue
		}
		v, err := k.parse(k.Default)
		if err != nil {
			panic("config: the default of " + k.Name + " is wrong: " + err.Error())
		}
		k.store(k.field(l.config), v)
	}
}

func (l *loader) files() {
	user := l.userFile()
	if user != "" && isFile(user) {
		l.readFile(user, user, false)
	}
	dir := l.projectDir()
	if dir == "" {
		l.config.Trusted = l.trusts(l.Dir)
		return
	}
	l.config.Project, l.config.Trusted = dir, l.trusts(dir)
	for _, name := range []string{FileName, LocalName} {
		path := filepath.Join(dir, name)
		if path == user || !isFile(path) {
			continue
		}
		l.readFile(path, l.shown(path), true)
	}
	l.warnOfTrust()
}

// isFile says whether something is there to be read; what is no file becomes an
// error on reading, not silence.
func isFile(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// shown is a project's file as it is named to people: from the working directory.
func (l *loader) shown(path string) string {
	if rel, err := filepath.Rel(l.Dir, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// projectDir is the nearest folder, from the working directory upwards, that has
// settings. It looks no further than the root of a repository or the home folder.
func (l *loader) projectDir() string {
	for dir := l.Dir; ; {
		if isFile(filepath.Join(dir, FileName)) || isFile(filepath.Join(dir, LocalName)) {
			if dir == l.Dir || !everybodys(dir) {
				return dir
			}
			l.warn("%s is not read: everybody may write to its folder", filepath.Join(dir, FileName))
		}
		l.misnamed(dir)
		up := filepath.Dir(dir)
		if up == dir || dir == l.home || isFile(filepath.Join(dir, ".git")) {
			return ""
		}
		dir = up
	}
}

// Unread is the file of settings that would count if the program had been started
// in a folder, and does not; "" if there is none.
func (c *Config) Unread(folder string) string {
	for dir := folder; dir != c.from.dir; {
		for _, name := range []string{FileName, LocalName} {
			path := filepath.Join(dir, name)
			info, err := os.Stat(path)
			if err != nil || dir != folder && everybodys(dir) {
				continue
			}
			if slices.ContainsFunc([]string{c.from.user, filepath.Join(c.Project, FileName), filepath.Join(c.Project, LocalName)}, func(read string) bool {
				other, err := os.Stat(read)
				return err == nil && filepath.IsAbs(read) && os.SameFile(info, other)
			}) {
				return ""
			}
			return path
		}
		up := filepath.Dir(dir)
		if up == dir || dir == c.from.home || isFile(filepath.Join(dir, ".git")) {
			return ""
		}
		dir = up
	}
	return ""
}

// NotRead says of a file of settings that it does not count, and how it would.
func NotRead(path string) string {
	return fmt.Sprintf("%s is not read, since uzda was started elsewhere; for its rules to hold, start uzda in %s", path, filepath.Dir(path))
}

// misnamed warns of files that were meant to be read.
func (l *loader) misnamed(dir string) {
	for _, name := range []string{"uzda.yml", ".uzda.yaml", ".uzda.yml", "uzda.json", "uzda.toml"} {
		if isFile(filepath.Join(dir, name)) {
			l.warn("%s is not read; its name must be %s", l.shown(filepath.Join(dir, name)), FileName)
		}
	}
}

// everybodys says whether anybody on the machine may put files into a folder, as
// in a folder for temporary files.
func everybodys(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0
}

func (l *loader) environment() {
	known := []string{"UZDA_HOME", "UZDA_SHARED", "UZDA_FULL", "UZDA_USE", "UZDA_PROJECT_DIR", "UZDA_SESSION"}
	for _, k := range keys {
		known = append(known, k.Env)
		if text := l.env[k.Env]; k.Env != "" && text != "" {
			l.given(k, "env "+k.Env, strings.Split(text, "\n"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if strings.HasPrefix(name, "UZDA_") && !slices.Contains(known, name) {
			hint := "no setting is called so"
			if n := near(name, known); n != "" {
				hint = "did you mean " + n + "?"
			}
			l.warn("env %s is not read; %s", name, hint)
		}
	}
}

func (l *loader) flags() {
	left := maps.Clone(l.Flags)
	for _, k := range keys {
		if values, ok := left[k.Flag]; ok && k.Flag != "" {
			delete(left, k.Flag)
			l.given(k, "flag --"+k.Flag, values)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		l.fault("flag --"+name, "", "no setting has this flag")
	}
}

// given takes values from outside the files: several are a list, or the last
// one counts.
func (l *loader) given(k Key, origin string, values []string) {
	if k.Kind == Rules {
		var rules []Rule
		for _, text := range values {
			text = strings.TrimSpace(text)
			if text == "" {
				continue
			}
			if err := checkRule(k.Name, text); err != nil {
				l.fault(origin, k.Name, "%v", err)
				continue
			}
			rules = append(rules, Rule{text, origin})
		}
		l.set(k, rules, origin)
		return
	}
	if k.Kind == Paths || k.Kind == Texts {
		var list []string
		for _, text := range values {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			if k.Kind == Paths {
				text = resolve(text, l.Dir, l.home)
			}
			list = append(list, text)
		}
		l.set(k, list, origin)
		return
	}
	if len(values) == 0 {
		return
	}
	text := values[len(values)-1]
	if strings.HasPrefix(origin, "env ") {
		text = strings.Join(values, "\n")
	}
	v, err := k.parse(text)
	if err != nil {
		l.fault(origin, k.Name, "%v", err)
		return
	}
	if k.Kind == Path {
		v = resolve(text, l.Dir, l.home)
	}
	l.set(k, v, origin)
}

// finish fills what depends on other settings and checks what belongs together.
func (l *loader) finish() {
	c := l.config
	for _, name := range slices.Sorted(maps.Keys(l.named)) {
		if c.Models[name].ID == "" && !l.faulty("models."+name) {
			l.fault(l.named[name], "models."+name+".id", "models.%s has no id; add id: PROVIDER/ID", name)
		}
	}
	c.Data = l.dataDir()
	if own := l.userFile(); own != "" {
		c.Own = filepath.Dir(own)
	}
	if c.Dir == "" {
		c.Dir = l.Dir
	}
	c.from = origins{l.Dir, l.home, l.userFile()}
	if path := c.Unread(c.Dir); path != "" {
		l.warn("%s", NotRead(path))
	}
	if c.Agents == "" && c.Trusted {
		c.Agents = filepath.Join(l.Dir, "agents")
		if c.Project != "" {
			c.Agents = filepath.Join(c.Project, "agents")
		}
	}
	if c.Store.Path == "" && c.Data != "" {
		c.Store.Path = filepath.Join(c.Data, map[string]string{"sqlite": "sessions.uzda", "files": "sessions"}[c.Store.Kind])
	}
	if c.Store.Path == "" {
		l.fault("default", "store.path", "there is no home folder to keep sessions in; set UZDA_HOME or store.path")
	}
}

// faulty says whether something is already reported at or below a key.
func (l *loader) faulty(key string) bool {
	return slices.ContainsFunc(l.faults, func(f Fault) bool {
		return f.Key == key || strings.HasPrefix(f.Key, key+".")
	})
}

// userFile is the user's own file of settings, "" if there is no place for one.
func (l *loader) userFile() string {
	switch {
	case l.env["UZDA_HOME"] != "":
		return filepath.Join(l.absolute("UZDA_HOME"), FileName)
	case l.env["XDG_CONFIG_HOME"] != "":
		return filepath.Join(l.absolute("XDG_CONFIG_HOME"), "uzda", FileName)
	case l.OS == "windows" && l.env["APPDATA"] != "":
		return filepath.Join(l.env["APPDATA"], "uzda", FileName)
	case l.home == "":
		return ""
	case l.OS == "darwin":
		return filepath.Join(l.home, "Library", "Application Support", "uzda", FileName)
	}
	return filepath.Join(l.home, ".config", "uzda", FileName)
}

// dataDir is the folder of what Uzda keeps, "" if there is no place for one.
func (l *loader) dataDir() string {
	switch {
	case l.env["UZDA_HOME"] != "":
		return l.absolute("UZDA_HOME")
	case l.env["XDG_DATA_HOME"] != "":
		return filepath.Join(l.absolute("XDG_DATA_HOME"), "uzda")
	case l.OS == "windows" && l.env["LOCALAPPDATA"] != "":
		return filepath.Join(l.env["LOCALAPPDATA"], "uzda")
	case l.home == "":
		return ""
	case l.OS == "darwin":
		return filepath.Join(l.home, "Library", "Application Support", "uzda")
	}
	return filepath.Join(l.home, ".local", "share", "uzda")
}

func (l *loader) absolute(name string) string { return resolve(l.env[name], l.Dir, l.home) }
