package policy_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// runsByItself are lines that people and agents type all day and that a careful
// person lets run unseen: they read what lies in the folder, and nothing else.
const runsByItself = `
ls
ls -la
ls -la; pwd
ls -1 src | head -20
ls *.go
ls -lt | head
ls -R src | wc -l
ls src sub 2>/dev/null
time ls
pwd && ls
cat README.md
cat src/a.ts src/b.ts
cat package.json | jq .
cat package.json | jq -r '.name'
cat -n main.go | sed -n '10,20p'
cat data.csv | tr ',' '\t' | head
cat list.txt | sort | uniq -c | sort -rn | head -10
cat <<'EOF'\nhello\nEOF
head -50 main.go
head -n 5 README.md
head -c 100 data.bin | xxd
tail -n +5 list.txt | head
tail -20 log.txt
tail -n 100 log.txt | grep -i error
wc -l main.go
wc -l *.go
wc -l src/*.ts | tail -1
nl -ba main.go | sed -n '1,40p'
grep -n foo main.go
grep -rn "func main" .
grep -rn "TODO" src --include=*.ts
grep -c foo main.go
grep -rl foo src
grep -E 'a|b' list.txt
grep -v '^#' list.txt | head
grep -rn foo . | grep -v node_modules | head -20
grep -A3 -B3 foo main.go
grep -q foo main.go && echo yes
grep -q foo main.go || echo no
grep -rn "import" src | awk -F: '{print $1}' | sort -u
grep -oE '[0-9]+' list.txt | sort -n | tail -1
rg foo
rg -n foo src
rg -l foo
rg -n "func \w+" -g '*.go'
rg --files | head
rg -t go foo -A 3
rg -c foo | sort -t: -k2 -rn | head
find . -name "*.go"
find . -type f -name '*.ts' -not -path './node_modules/*'
find . -maxdepth 2 -type d
find src -type f | head -20
find . -name '*.go' | wc -l
find . -type f -size +1M
find . -name '*.go' -newer go.mod
find . \( -name '*.go' -o -name '*.ts' \) -print
find . -type f -exec wc -l {} +
find . -name '*.go' -exec grep -l foo {} \;
find . -name "*.py" | xargs wc -l
find . -name '*.go' -print0 | xargs -0 grep -n foo
find . -name '*.go' | xargs grep -l foo
find . -name '*.go' | sort | xargs wc -l
find . -name '*.go' | head -5 | xargs cat
find src -name '*.ts' | xargs -n1 head -3
find src -name '*.ts' | xargs -I{} head -3 {}
find . -type f -name '*.md' | xargs ls -la
find . -name '*.go' | grep -v _test | xargs wc -l | tail -1
find . -name '*.go' 2>/dev/null | xargs wc -l
git ls-files | xargs grep -n foo
git ls-files | xargs wc -l
git ls-files '*.go' | xargs wc -l | sort -n
git ls-files -z | xargs -0 wc -l
git ls-files | grep '\.go$' | xargs cat | wc -l
git ls-files | head -5 | xargs -I{} wc -l {}
git grep -l foo | xargs sed -n 1,5p
rg -l foo | xargs sed -n 1,5p
rg -l foo src | xargs wc -l
rg --files -g '*.go' | xargs wc -l
grep -rl x src | xargs head -3
grep -rlZ x src | xargs -0 head -3
grep -l foo *.go | xargs wc -l
fd -e go | xargs wc -l
ls | xargs file
ls *.go | xargs wc -l
for f in *.go src/*.ts a b; do wc -l "$f"; done
for f in *.go; do echo "== $f"; head -3 "$f"; done
for f in src/*.ts; do echo $f; sed -n 1,5p $f; done
for f in main.go go.mod; do cat $f; done
for f in main.go go.mod; do echo "--- $f ---"; sed -n '1,10p' "$f"; done
for d in src sub; do ls -la "$d"; done
for d in src sub; do ls "$d" | wc -l; done
for d in src sub; do find "$d" -name '*.ts' | head -2; done
for f in a b; do grep -n foo "src/$f.ts"; done
for f in src/*; do [ -f "$f" ] && wc -l "$f"; done
for f in *.go; do if grep -q foo "$f"; then echo "$f"; fi; done
for f in $(ls); do echo $f; done
for i in 1 2 3; do echo $i; done
for i in 1 2 3; do sed -n "${i}p" main.go; done
for i in $(seq 1 5); do echo $i; done
for ext in go ts md; do echo "$ext: $(find . -name "*.$ext" | wc -l)"; done
for b in main dev; do git log --oneline -3 "$b"; done
sed -n '1,20p' main.go
sed -n '/func/,/^}/p' main.go
sed 's/foo/bar/' main.go | head
sed -e 's/a/b/g' -e '/x/d' list.txt
sed -n '$=' main.go
sed '/^$/d' list.txt | wc -l
awk '{print $1}' list.txt
awk -F: '{print $1}' list.txt
awk 'NR==1' data.csv
awk 'NR>=5 && NR<=10' main.go
awk -F, '{s+=$2} END {print s}' data.csv
awk '/foo/ {print FILENAME": "$0}' main.go
awk '{print length, $0}' list.txt | sort -n | tail -3
awk '!seen[$0]++' list.txt
awk -F'\t' '{print $2}' list.txt
cut -d, -f1 data.csv | sort | uniq -c
cut -c1-80 main.go
sort list.txt | uniq
sort -u list.txt
sort -t, -k2 -n data.csv | head
column -t -s, data.csv
comm -12 <(sort list.txt) <(sort data.csv)
diff main.go src/b.go
diff -u list.txt data.csv | head -40
diff <(sort list.txt) <(sort data.csv)
diff -rq src sub
jq '.scripts' package.json
jq -r '.dependencies | keys[]' package.json
jq 'length' data.json
jq -c '.[] | select(.id > 3)' data.json
jq -r '.[] | [.a, .b] | @tsv' data.json
jq . data.json | head -30
tr a-z A-Z < list.txt
tr -d '\r' < list.txt | wc -c
paste -sd, list.txt
xxd data.bin | head
od -c data.bin | head
hexdump -C data.bin | head -5
strings data.bin | head
base64 data.bin | head -1
file *
file main.go
stat -c %s main.go
stat main.go
du -sh *
du -sh .
du -h --max-depth=1 . | sort -h
du -a src | sort -n | tail
md5sum main.go
sha256sum *.go
basename $(pwd)
dirname src/a.ts
realpath main.go
readlink -f main.go
tree -L 2
date
date +%F
date -u +%Y-%m-%dT%H:%M:%SZ
seq 1 5
echo hello
echo $PATH | tr : '\n'
echo "$HOME"
echo $?
echo "a b" | wc -w
printf '%s\n' a b c
printf 'x\ty\n' | cut -f2
true
uname -a
nproc
free -h
uptime
whoami
id
hostname
df -h
df -h .
ps aux | grep node
ps aux --sort=-%mem | head -5
ps -ef | grep -v grep | grep go
pgrep -fl node
lscpu | head
which go
which python3 node go
command -v go
command -v rg >/dev/null && echo yes
type go
type -a python3
[ -f go.mod ] && echo go
[ -d src ] && ls src
[ -f x ] && cat x || true
test -f go.mod && echo ok
[[ -f go.mod ]] && echo ok
if [ -f go.mod ]; then head -1 go.mod; else echo none; fi
cd src && ls
cd src && cat a.ts | head
cd src && grep -rn foo . && cd ..
cd sub && git status
cd src; ls; cd ../sub; ls
pwd; ls; cat go.mod; echo done
ls 2>/dev/null || true
ls nothing 2>&1 | head
cat missing 2>/dev/null || echo missing
grep -rn foo src 2>/dev/null | head -5; echo "exit: $?"
grep foo main.go > /dev/null && echo ok
x=5; echo $x
n=$(wc -l < main.go); echo "$n lines"
f=main.go; wc -l "$f"
f=main.go; grep -n foo $f; head -3 $f
dir=src; ls "$dir"; cat "$dir/a.ts"
echo "$(date): $(ls | wc -l) files"
echo "lines: $(cat *.go | wc -l)"
ls | while read f; do echo "$f"; done
sleep 1
sleep 1; ls
timeout 5 ls
timeout 10 grep -rn foo .
LC_ALL=C sort list.txt
set -e; ls; pwd
set -o pipefail; cat list.txt | sort | head
git status
git status --short
git status -sb
git status --porcelain | head
git diff
git diff --stat
git diff HEAD~1
git diff HEAD~1 --name-only
git diff main...HEAD -- src
git diff --cached
git diff | head -100
git diff -- main.go
git --no-pager diff
git log --oneline
git log --oneline -10
git log --oneline -n 5 -- src
git log -p -1
git log --format=%h | head
git log --format='%h %an %s' -5
git log --pretty=format:'%h %s' --since='1 week ago'
git log --stat -2
git log --graph --oneline --all | head -20
git log -S foo --oneline
git log --author=me --oneline
git show
git show HEAD
git show HEAD:main.go
git show HEAD~2:src/a.ts | head
git show --stat HEAD
git show --name-only HEAD
git blame main.go
git blame -L 10,20 main.go
git branch
git branch -a
git branch -vv
git branch --show-current
git tag
git tag -l 'v*'
git remote -v
git remote get-url origin
git stash list
git stash show -p
git stash show -p stash@{0}
git worktree list
git reflog
git reflog | head -5
git reflog -n 5
git rev-parse HEAD
git rev-parse --show-toplevel
git rev-parse --abbrev-ref HEAD
git ls-files
git ls-files | wc -l
git ls-files '*.go' | head
git ls-tree -r HEAD --name-only
git grep -n foo
git grep -n foo -- src
git cat-file -p HEAD
git cat-file -t HEAD
git describe --tags
git describe --tags --always --dirty
git shortlog -sn HEAD
git merge-base main HEAD
git rev-list --count HEAD
git config --get user.name
git config user.email
git config --list
git -C sub status
git -C sub log --oneline -3
git check-ignore -v main.go
git for-each-ref --sort=-committerdate refs/heads
git diff --name-only HEAD~3 | sort
git diff --name-only | grep '\.go$'
git log --oneline main..HEAD
git log -1 --format=%cd --date=short
git --version
go version
go env
go env GOPATH
go list ./...
go list -m
go list -m all
go list -f '{{.Dir}}' ./...
go doc fmt
go doc fmt.Println
go help build
gofmt -l .
gofmt -d main.go
node --version
node -v
npm --version
npm ls
npm ls --depth=0
python3 --version
python --version
pip list
pip show requests
pip freeze | head
pip --version
python3 -I -m json.tool data.json
ruby --version
java -version
docker --version
docker ps --format '{{.Names}}'
docker ps
docker ps -a
docker images
make --version
gcc --version
jq --version
bash --version
node --version && npm --version
go version; node --version; python3 --version
`

// asksFirst are such lines that a careful person wants to see: they run code,
// change something, reach out, show secrets or leave the folder.
const asksFirst = `
find . -name '*.go' -delete
find . -name '*.tmp' -exec rm {} \;
find . -name '*.go' | xargs rm
find . -name '*.go' | xargs sed -i s/a/b/
find . -name '*.go' | xargs sh -c 'cat "$@"' _
find . -name '*.go' | xargs -I{} cp {} /tmp
find . -name '*.sh' | xargs -n1 sh
find / -name '*.go' | xargs wc -l
find .. -name '*.go' | xargs wc -l
find . -printf '/etc/passwd\n' | xargs cat
find . -name '*.go' | xargs xxd
find . -name '*.go' | xargs -0 cat
find . -name '*.go' -print0 | xargs cat
find . -name '*.go' -print0 | head -1 | xargs -0 cat
find . -name '*.go' | head -c 9 | xargs cat
find . -name '*.go' | (head -1; xargs cat)
find . -name '*.go' | { head -c 3; xargs cat; }
find . -name '*.go' | sh -c 'head -c 3; xargs cat'
find . -name '*.go' |& xargs cat
find . -name '*.go' | grep -o '/.*' | xargs cat
find . -name '*.go' | sort - /etc/hosts | xargs cat
find . -name '*.go' | xargs -a list.txt cat
find . -name '*.go' | xargs -d / cat
find . -name '*.go' | xargs awk
find . -name '*.go' | xargs -I{} -n2 xxd {}
find . -name '*.go' | unbuffer -p xargs cat
f=main.go; . ./x; cat "$f"
for s in p w/etc/x; do sed -n "$s" main.go; done
find . -name '*.go' | xargs find
find . -name '*.go' | xargs env
find . -name '*.go' | xargs git rm
find . -name '*.go' | xargs -I{} sh -c 'cat {}'
find -L / -name '*.go' | xargs cat
find . -name '*.go' | env -C .. xargs cat
f=main.go; read f; cat "$f"
f=main.go; g() { cat "$f"; }; f=/etc/passwd; g
for f in a; do g; cat "$f"; done; g() { f=/etc/passwd; }
for f in a b; do printf -v f %s /etc/passwd; cat "$f"; done
for f in a b; do for f in $x; do :; done; cat "$f"; done
for f in a b; do cat "${f:-/etc/passwd}" "$g"; done
for f in a b; do cat "${f/a//etc/passwd}"; done
for f in a b; do trap 'cat "$f"' EXIT; done; f=/etc/passwd
for f in a; do : ${f:=x}; cat "$f"; done
for f in a b; do sh -c 'cat "$f"'; done
for f in a b; do . "$f"; done
for _ in a b; do cat "$_"; done
for f in a b; do cat "$f" > "$f.out"; done
cat "$f"; f=main.go
false && f=main.go; cat "$f"
(f=main.go); cat "$f"
f=main.go | cat "$f"
f=main.go & cat "$f"
f='main.go /etc/passwd'; cat $f
f='/etc/*'; cat $f
find . -name '*.go' | xargs sed
cat <<'EOF' | [[ a =~ a ]]\n: x\nEOF
coproc v+=x ls
find . -name '*.go' | sed s,^,/etc/, | xargs cat
find . -name '*.go' | xargs -I{} cat /etc/{}
cat list.txt | xargs cat
rg -l foo -r /etc/passwd | xargs cat
rg -o '/[a-z/]+' | xargs cat
grep -rh . src | xargs cat
grep -ho '/.*' src/a.ts | xargs cat
git ls-files -s | xargs cat
git ls-files ../other | xargs cat
git log --format=%s | xargs cat
git diff --name-only HEAD~3 | xargs cat
ls -a | xargs ls
echo /etc/passwd | xargs cat
for f in /etc/passwd; do cat "$f"; done
for f in *.go; do cat "/etc/$f"; done
for f in ../*; do cat "$f"; done
for f in $(cat list.txt); do cat "$f"; done
for f in *.go; do rm "$f"; done
for f in *.go; do f=/etc/passwd; cat "$f"; done
for f in *.go; do sed -i s/a/b/ "$f"; done
for f in *.go; do go run "$f"; done
for f in a b; do ./"$f"; done
for c in rm ls; do $c main.go; done
for f in "main.go /etc/passwd"; do cat $f; done
for f in main.go; do cat "$f/../../x"; done
while read f; do cat "$f"; done < list.txt
cat list.txt | while read f; do wc -l "$f"; done
f=/etc/passwd; cat "$f"
cat $(cat list.txt)
env | grep -i path
printenv
export
set
cat ~/.ssh/id_rsa
cat /etc/passwd
cat ../other/secret.txt
cd .. && cat other/secret.txt
echo x > main.go
echo x >> list.txt
sed -i 's/a/b/' main.go
awk '{print > "x"}' list.txt
awk 'BEGIN {system("id")}'
sort -o list.txt list.txt
tee x < list.txt
rm main.go
rm -rf sub
mv main.go x.go
cp main.go x.go
mkdir -p a/b
touch x
chmod +x main.go
kill 1
curl https://example.com
wget https://example.com
ssh host ls
make
make test
make -n
go build ./...
go test ./...
go run .
go vet ./...
go generate ./...
go install ./...
go get example.com/x
go env -w GOFLAGS=-x
gofmt -w main.go
npm test
npm install
npm run build
npx tsc
yarn --version
pnpm ls
node script.js
node -e 'console.log(1)'
python3 script.py
python3 -c 'print(1)'
python3 -m json.tool data.json
python3 -I -m json.tool data.json main.go
python3 -m pytest
pip install x
pip list --log x
cargo --version
rustc --version
rustup show
kubectl version --client
cargo build
cargo test
cargo tree
mvn --version
rake -T
gradle --version
composer --version
task --list
pip list --outdated
npm ls --userconfig x
go doc -http
nm @opts
strings @opts
docker ps --config x
docker run alpine
docker exec x sh
docker compose up
kubectl get pods
gh pr list
git commit -m x
git add .
git push
git pull
git fetch
git checkout main
git checkout -- .
git reset --hard
git clean -fd
git stash
git stash pop
git rebase main
git merge main
git branch new
git branch -D old
git tag v1
git config user.name x
git -c core.pager=id log
git --exec-path=. log
git diff --output=x
git diff --ext-diff
git show --textconv HEAD:x
git log --show-signature
git grep -O foo
git config core.fsmonitor ./x
bash script.sh
./script.sh
sh -c 'rm x'
eval "$x"
source .env
. ./x
sudo ls
`

// everyday are the lines of a list; \n in one is a new line of the command where a
// here-document needs it.
func everyday(list string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
		if strings.Contains(line, "<<'EOF'") {
			line = strings.ReplaceAll(line, `\n`, "\n")
		}
		out = append(out, line)
	}
	return out
}

// S1 case:P01: what people type all day runs by itself, at most one in twenty is
// asked for; and what a careful person wants to see is never let through.
func TestEveryday(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/main.go", "proj/README.md", "proj/package.json", "proj/data.json", "proj/data.csv", "proj/data.bin", "proj/list.txt",
		"proj/log.txt", "proj/src/a.ts", "proj/src/b.ts", "proj/src/b.go", "proj/sub/x.go", "proj/.git/config", "proj/.git/HEAD", "proj/.gitignore")
	g := policy.Gate{Bash: true, Home: dir + "-home"}
	asked := 0
	runs := everyday(runsByItself)
	for _, line := range runs {
		if got := judge(t, g, in(dir, "shell", line)); got.Decision != uzda.Allow {
			asked++
			t.Logf("friction: %q: %s (%s)", line, got.Decision, got.Reason)
		}
	}
	asks := everyday(asksFirst)
	for _, line := range asks {
		if got := judge(t, g, in(dir, "shell", line)); got.Decision == uzda.Allow {
			t.Errorf("BYPASS %q: %s", line, got.Reason)
		}
	}
	t.Logf("%d of %d lines that should run are asked for; %d others are not let through", asked, len(runs), len(asks))
	if asked*20 > len(runs) {
		t.Errorf("friction is over a twentieth: %d of %d", asked, len(runs))
	}
}

// case:P01 case:P06: names that come by a pipe or from a loop are taken for what they
// seem only where a look at the folder shows that none is an option, two words or a
// link to elsewhere.
func TestOddNames(t *testing.T) {
	t.Parallel()
	const (
		piped   = "find . -type f | xargs cat"
		exact   = "find . -type f -print0 | xargs -0 cat"
		listed  = "git ls-files | xargs wc -l"
		listed0 = "git ls-files -z | xargs -0 wc -l"
		bare    = "for f in src/*; do wc -l $f; done"
		quoted  = `for f in src/*; do wc -l "$f"; done`
		front   = `for f in *; do sed -n 1p "$f"; done`
		star    = "file *"
		exec    = "find . -exec cat {} +"
	)
	all := []string{piped, exact, listed, listed0, bare, quoted, front, star, exec}
	for name, asks := range map[string][]string{
		"proj/src/plain.go":                  {},
		"proj/src/x /etc/passwd":             {piped, listed, bare},
		"proj/src/x y":                       {piped, listed, bare},
		"proj/src/it's":                      {piped, listed},
		"proj/src/a*":                        {bare},
		"proj/src/line\nend":                 {piped, listed, bare},
		"proj/-rf":                           {listed, listed0, front, star},
		"proj/--files0-from=../x":            {listed, listed0, front, star},
		"proj/src/out -> TOP/other":          {piped, exact, listed, listed0, bare, quoted, exec},
		"proj/src/f -> TOP/other/secret.txt": {piped, exact, listed, listed0, bare, quoted, exec},
		"proj/src/in -> plain.go":            {},
		"proj/src/.env":                      {piped, exact, listed, listed0, exec},
	} {
		dir := site(t, "proj/src/plain.go", name)
		for _, line := range all {
			want := uzda.Allow
			for _, a := range asks {
				if a == line {
					want = uzda.Ask
				}
			}
			if got := judge(t, policy.Gate{Bash: true}, in(dir, "shell", line)); got.Decision != want {
				t.Errorf("with %q: %q: %s, want %s (%s)", name, line, got.Decision, want, got.Reason)
			}
		}
	}
}

// A line that could make such a name itself before it is used is asked, also where
// the making needs no question.
func TestNamesMadeBefore(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/src/a.ts", "proj/a/b/c/x")
	g := policy.Gate{Bash: true, Mode: policy.ModeEdits}
	for line, want := range map[string]uzda.Decision{
		"find . -type f | xargs cat":                                               allow,
		"mkdir -p 'x /etc'; touch 'x /etc/passwd'":                                 allow,
		"mkdir -p 'x /etc'; touch 'x /etc/passwd'; find . -type f | xargs cat":     ask,
		"touch -- -rf; for f in *; do sed -n 1p \"$f\"; done":                      ask,
		"for f in *.go; do touch \"$f.bak\"; done":                                 ask,
		"for f in a b; do touch \"$f.bak\"; done":                                  allow,
		"for f in a ../b; do touch \"$f.bak\"; done":                               ask,
		"cd a/b/c && ln -s ../../../other ../../../y && cat ../../../y/secret.txt": ask,
		"cd a/b/c && ln -s ../../../src d":                                         allow,
		"ln -st a/b ../../other":                                                   ask,
		"mv src/a.ts a && mv src/b.ts a":                                           allow,
		"mv a/b d && mv src a/b && ls a/b":                                         ask,
		"mv a/b/c y && cat y/x":                                                    ask,
		"cp -a a/b/c y && cat y/x":                                                 ask,
		"cp src/a.ts y && cat y":                                                   allow,
		"ln -s src/a.ts b.ts":                                                      allow,
		// What comes later cannot change what was used before it.
		"mkdir -p k && mv src/a.ts k/":     allow,
		"mkdir -p k; mv src k":             allow,
		"touch q && mv q r":                allow,
		"cp src/a.ts b.ts && mv b.ts c.ts": allow,
		"for i in 1 2; do touch q; ln -sf ../../other/secret.txt q; done": ask,
		"touch q & ln -sf ../../other q":                                  ask,
		"mv a/b k | touch k/x":                                            ask,
	} {
		if got := judge(t, g, in(dir, "shell", line)); got.Decision != want {
			t.Errorf("%q: %s, want %s (%s)", line, got.Decision, want, got.Reason)
		}
	}
}
