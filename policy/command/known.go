package command

// What the operands of a program are.
type takes int

const (
	text    takes = iota // words that name no file
	file                 // files to read; without any it reads its input
	folder               // files and folders; without any the folder it runs in
	pattern              // a text first, and then files
	nothing              // none at all: with one it does something else
	target               // files that it makes or changes
	into                 // files to read, and last the one to write
	moved                // the same, and those read are gone afterwards
	mode                 // a text first, and then files that it changes
	option1              // at most one file; a second one is written
)

// A program is what is known of one: which options leave it at its level. A call
// with any other option is not known, and every word of it counts.
type program struct {
	options string
	takes   takes
	level   Level
	why     string
	// free says that no option can do harm, so that any may be given, and a word
	// that is not known before may be one.
	free bool
	deep string // options with which it goes into folders; "*": always
	how  style
}

// programs are what people and models type all day.
var programs = map[string]program{
	// They show files.
	"cat":       {takes: file, free: true, options: "-AbeEnstTuv"},
	"head":      {takes: file, free: true, options: "-qvz -c= -n= -# --bytes= --lines= --quiet --verbose"},
	"tail":      {takes: file, free: true, options: "-qvzfFr -c= -n= -s= -# --bytes= --lines= --pid= --sleep-interval= --quiet --follow?"},
	"wc":        {takes: file, free: true, options: "-clmwL --lines --words --bytes --chars --total= --files0-from<"},
	"nl":        {takes: file, free: true, options: "-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w="},
	"tac":       {takes: file, free: true, options: "-br -s= --separator="},
	"rev":       {takes: file, free: true},
	"cut":       {takes: file, free: true, options: "-szn -b= -c= -d= -f= --bytes= --characters= --delimiter= --fields= --output-delimiter= --complement --only-delimited"},
	"paste":     {takes: file, free: true, options: "-sz -d= --delimiters="},
	"join":      {takes: file, free: true, options: "-i -1= -2= -a= -e= -j= -o= -t= -v="},
	"fold":      {takes: file, free: true, options: "-bs -w= --width="},
	"fmt":       {takes: file, free: true, options: "-cstu -w= -p= -g="},
	"expand":    {takes: file, free: true, options: "-i -t="},
	"unexpand":  {takes: file, free: true, options: "-a -t="},
	"od":        {takes: file, free: true, options: "-abcdfilosxv -A= -j= -N= -t= -w? -S="},
	"hexdump":   {takes: file, options: "-bcCdoxv -e= -n= -s="},
	"strings":   {takes: file, options: "-afw -n= -t= -e= -#"},
	"comm":      {takes: file, free: true, options: "-123z --output-delimiter="},
	"cmp":       {takes: file, free: true, options: "-bls -i= -n="},
	"diff":      {takes: file, options: "-qsuaibBEZwcyNrtTdpH -u? -U= -C= -W= -x= -I= -L= -X< --brief --unified? --context? --recursive --ignore-all-space --ignore-case --color? --side-by-side --width= --exclude= --suppress-common-lines --new-file --text --strip-trailing-cr --report-identical-files --minimal", deep: "-r --recursive"},
	"column":    {takes: file, options: "-tnexJ -s= -c= -o= -N= -R= --table --separator="},
	"shuf":      {takes: file, options: "-rz -n= -i= --head-count= --repeat --input-range="},
	"zcat":      {takes: file, options: "-fqv"},
	"bzcat":     {takes: file, options: "-qs"},
	"xzcat":     {takes: file, options: "-qf"},
	"look":      {takes: pattern, options: "-df -t="},
	"md5sum":    {takes: file, options: "-btz --tag"},
	"sha1sum":   {takes: file, options: "-btz --tag"},
	"sha224sum": {takes: file, options: "-btz --tag"},
	"sha256sum": {takes: file, options: "-btz --tag"},
	"sha384sum": {takes: file, options: "-btz --tag"},
	"sha512sum": {takes: file, options: "-btz --tag"},
	"shasum":    {takes: file, options: "-btU -a="},
	"b2sum":     {takes: file, options: "-btz -l= --tag"},
	"cksum":     {takes: file, options: "-a= --tag"},
	"sum":       {takes: file, options: "-rs"},
	"base64":    {takes: file, options: "-di -w= --decode --ignore-garbage --wrap="},
	"base32":    {takes: file, options: "-di -w= --decode --ignore-garbage --wrap="},
	"xxd":       {takes: option1, options: "-abeiupEC -c= -g= -l= -s= -o= -ps"},
	"uniq":      {takes: option1, options: "-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case --skip-fields= --skip-chars= --check-chars="},
	"sort":      {takes: file, options: "-bdfghinMRrVcCmsuz -k= -t= -S= --key= --field-separator= --numeric-sort --reverse --unique --ignore-case --version-sort --human-numeric-sort --stable --check? --parallel= --zero-terminated --general-numeric-sort"},
	"tr":        {takes: text, free: true},
	"numfmt":    {takes: text, free: true},
	"jq":        {takes: pattern, options: "-rcsenSMCajR --raw-output --compact-output --slurp --null-input --exit-status --sort-keys --tab --indent= --raw-input --join-output --color-output --monochrome-output --ascii-output"},
	"sed":       {takes: pattern, options: "-nErsuz -e= -l= --quiet --silent --regexp-extended --expression= --separate --null-data --posix -i? --in-place?"},
	"awk":       {takes: pattern, options: "-F= -v= --field-separator= --assign="},
	"gawk":      {takes: pattern, options: "-F= -v= --field-separator= --assign="},
	"mawk":      {takes: pattern, options: "-F= -v="},
	"nawk":      {takes: pattern, options: "-F= -v="},

	// They search.
	"grep":  {takes: pattern, free: true, options: grepOptions, deep: "-r -R --recursive --dereference-recursive"},
	"egrep": {takes: pattern, free: true, options: grepOptions, deep: "-r -R --recursive --dereference-recursive"},
	"fgrep": {takes: pattern, free: true, options: grepOptions, deep: "-r -R --recursive --dereference-recursive"},
	"rg": {takes: pattern, deep: "*", options: "-acFhHiIlLnNoPpqsSuUvVwxb0. -A= -B= -C= -e= -f< -g= -j= -m= -M= -r= -t= -T= -E= -d= --no-heading --heading --line-number --no-line-number " +
		"--files-with-matches --files-without-match --count --count-matches --ignore-case --smart-case --case-sensitive --fixed-strings --word-regexp --line-regexp --invert-match --multiline --multiline-dotall --hidden " +
		"--no-ignore --no-ignore-vcs --glob= --iglob= --type= --type-not= --max-count= --max-depth= --max-columns= --context= --after-context= --before-context= --color= --files --json --only-matching " +
		"--replace= --sort= --sortr= --stats --trim --vimgrep --with-filename --no-filename --regexp= --file< --pcre2 --follow --text --null --no-config --no-messages --column --quiet --passthru --unrestricted --type-list --version"},
	"ls":      {takes: folder, free: true, options: "-I= -w= -T= --ignore= --hide= --color? --format= --sort= --time= --time-style= --width= --block-size= --quoting-style= --indicator-style=", deep: "-R --recursive"},
	"dir":     {takes: folder, free: true, deep: "-R --recursive"},
	"tree":    {takes: folder, deep: "*", options: "-adflxisphugDFqNQrtcvUACnJX -L= -I= -P= --gitignore --noreport --dirsfirst --du --prune --charset= --filelimit= --sort? --matchdirs --ignore-case"},
	"du":      {takes: folder, free: true, deep: "*", options: "-d= -B= -t= --max-depth= --exclude= --block-size= --threshold= -X< --exclude-from< --files0-from< --time? --time-style="},
	"fd":      {takes: pattern, deep: "*", options: "-HIuisglapLF0 -d= -t= -e= -E= -S= -c= --hidden --no-ignore --type= --extension= --exclude= --max-depth= --min-depth= --absolute-path --follow --glob --color="},
	"fdfind":  {takes: pattern, deep: "*", options: "-HIuisglapLF0 -d= -t= -e= -E= -S= -c= --hidden --no-ignore --type= --extension= --exclude= --max-depth="},
	"locate":  {takes: text, options: "-bciq -l= -n="},
	"cloc":    {takes: folder, deep: "*"},
	"file":    {takes: file, options: "-bhiLNpv0k --brief --mime --mime-type --mime-encoding --dereference"},
	"stat":    {takes: file, free: true, options: "-c= -f= -t= --format= --printf="},
	"readelf": {takes: file, options: "-ahlSsednruVWx"},
	"nm":      {takes: file, options: "-aACDgnopPruS"},
	"size":    {takes: file, options: "-AB"},

	// They print what they are given.
	"echo":     {takes: text, free: true},
	"printf":   {takes: text, free: true},
	"true":     {takes: text, free: true},
	"false":    {takes: text, free: true},
	"test":     {takes: text, free: true},
	"[":        {takes: text, free: true},
	"expr":     {takes: text, free: true},
	"seq":      {takes: text, free: true},
	"basename": {takes: text, free: true},
	"dirname":  {takes: text, free: true},
	"factor":   {takes: text, free: true},
	"yes":      {takes: text, free: true},
	"sleep":    {takes: text, free: true},
	"realpath": {takes: file, free: true, options: "--relative-to= --relative-base="},
	"readlink": {takes: file, free: true},

	// They tell of the system.
	"pwd":      {takes: text, free: true},
	"date":     {takes: text, options: "-uRI -I? -d= -r= --utc --date= --iso-8601? --rfc-3339= --rfc-email --reference="},
	"cal":      {takes: text, free: true},
	"which":    {takes: text, options: "-as"},
	"whereis":  {takes: text, options: "-bmsu"},
	"whoami":   {takes: nothing, free: true},
	"id":       {takes: text, options: "-aGgnruZz --user --group --groups --name"},
	"groups":   {takes: text, free: true},
	"uname":    {takes: nothing, options: "-asnrvmpio --all --kernel-name --machine --kernel-release"},
	"arch":     {takes: nothing},
	"hostname": {takes: nothing, options: "-sfiIdA --short --fqdn"},
	"nproc":    {takes: nothing, options: "--all --ignore="},
	"uptime":   {takes: nothing, options: "-ps"},
	"free":     {takes: nothing, options: "-bkmghtlw -s= -c= --human"},
	"df":       {takes: file, free: true, options: "-B= -t= -x= --block-size= --type= --output?"},
	"ps":       {takes: text, options: "-eAafFlHjTLwxduN -o= -p= -C= -u= -U= -G= -g= -t= --sort= --no-headers --forest --pid= --ppid= --user="},
	"ss":       {takes: text, options: "-htulwxnapeimosrHO460 -f= -A= --tcp --udp --listening --numeric --processes --all --summary --no-header"},
	"netstat":  {takes: text, options: "-tulnpaerisWgo46 --tcp --udp --listening --numeric --programs --all --route --statistics"},
	"lsof":     {takes: text, options: "-nPtalU -i? -p= -u= -c= -s? -d= -F?"},
	"pgrep":    {takes: text, options: "-acflnoxvi -u= -P= -g= -t= --list-name --list-full --full"},
	"tty":      {takes: nothing, options: "-s"},
	"locale":   {takes: text, options: "-akm"},
	"getconf":  {takes: text},
	"lscpu":    {takes: nothing, options: "-aeJp"},
	"lsblk":    {takes: file, options: "-afJlmnpS -o="},
	"tput":     {takes: text},
	"clear":    {takes: nothing},

	// They change what can be made again.
	"mkdir":   {takes: target, level: Changes, why: "it makes a folder", options: "-pv -m= --parents --mode= --verbose"},
	"rmdir":   {takes: target, level: Changes, why: "it removes an empty folder", options: "-pv --parents --verbose --ignore-fail-on-non-empty"},
	"touch":   {takes: target, level: Changes, why: "it makes a file or changes its time", options: "-acmh -d= -t= -r< --date= --time= --reference< --no-create"},
	"tee":     {takes: target, level: Changes, why: "it writes a file", options: "-aip --append --ignore-interrupts"},
	"cp":      {takes: into, level: Changes, why: "it copies files", options: "-abdfiHlLnpPRrsTuvx -t> --archive --force --interactive --no-clobber --recursive --preserve? --target-directory> --update? --verbose --no-target-directory --parents", deep: "-r -R -a --recursive --archive"},
	"mv":      {takes: moved, level: Changes, why: "it moves files", options: "-bfinTuv -t> --force --interactive --no-clobber --target-directory> --update? --verbose --no-target-directory"},
	"ln":      {takes: into, level: Changes, why: "it makes a link", options: "-bfinLPrsTv -t> --symbolic --force --relative --no-dereference --target-directory> --verbose --no-target-directory"},
	"chmod":   {takes: mode, level: Changes, why: "it changes who may use a file", options: "-cfvR --changes --quiet --verbose --recursive"},
	"rm":      {takes: target, level: Changes, why: "it removes files", options: "-diIrRvf --dir --interactive? --recursive --verbose --force --one-file-system --preserve-root? --no-preserve-root", deep: "-r -R --recursive"},
	"unlink":  {takes: target, level: Changes, why: "it removes a file"},
	"split":   {takes: file, level: Unknown, why: "it writes files"},
	"gofmt":   {takes: folder, deep: "*", options: "-lde -s", how: gnu},
	"tar":     {takes: folder, level: Unknown, why: "it packs or unpacks files", options: "-cxtzjJvfO", deep: "*"},
	"mkfifo":  {takes: target, level: Changes, why: "it makes a pipe", options: "-m="},
	"install": {takes: into, level: Changes, why: "it copies files", options: "-dDpv -m= -t> --mode="},

	// They begin a program that shows text, which can run others.
	"man": {takes: text, level: Unknown, why: "it shows text with a program that can start others", options: "-kfa"},
}

const grepOptions = "-EFGPcHhilLnoqrRsvwxyzabTUuZ -e= -f< -m= -A= -B= -C= -D= -d= -# --regexp= --file< --include= --exclude= --exclude-dir= " +
	"--exclude-from< --color? --colour? --context? --after-context= --before-context= --max-count= --recursive --dereference-recursive --line-number " +
	"--ignore-case --files-with-matches --count --fixed-strings --extended-regexp --perl-regexp --word-regexp --invert-match --binary-files= --only-matching --quiet --no-messages --label= --null"

// dangers are programs that destroy, stop or take more than can be given back.
var dangers = map[string]string{
	"shred": "it destroys files", "wipe": "it destroys files", "srm": "it destroys files", "truncate": "it cuts files",
	"wipefs": "it destroys a file system", "fdisk": "it changes disks", "sfdisk": "it changes disks", "gdisk": "it changes disks",
	"parted": "it changes disks", "mkswap": "it changes disks", "blkdiscard": "it destroys a disk", "hdparm": "it changes disks", "diskutil": "it changes disks",
	"lvremove": "it destroys a disk", "vgremove": "it destroys a disk", "pvremove": "it destroys a disk", "zpool": "it changes disks", "zfs": "it changes disks",
	"cryptsetup": "it changes disks", "debugfs": "it changes disks", "mount": "it changes what folders hold", "umount": "it changes what folders hold",
	"shutdown": "it stops the machine", "reboot": "it stops the machine", "halt": "it stops the machine", "poweroff": "it stops the machine", "init": "it stops the machine", "telinit": "it stops the machine",
	"systemctl": "it changes services", "service": "it changes services", "launchctl": "it changes services", "rc-service": "it changes services",
	"crontab": "it runs programs later", "at": "it runs programs later", "batch": "it runs programs later",
	"useradd": "it changes users", "userdel": "it changes users", "usermod": "it changes users", "adduser": "it changes users", "deluser": "it changes users",
	"groupadd": "it changes users", "groupdel": "it changes users", "passwd": "it changes users", "chpasswd": "it changes users", "chsh": "it changes users", "visudo": "it changes rights",
	"setcap": "it changes rights", "setfacl": "it changes rights", "chattr": "it changes rights", "chown": "it changes who owns files", "chgrp": "it changes who owns files",
	"insmod": "it changes the system", "rmmod": "it changes the system", "modprobe": "it changes the system", "sysctl": "it changes the system", "kexec": "it changes the system",
	"swapoff": "it changes the system", "swapon": "it changes the system", "iptables": "it changes the network", "ip6tables": "it changes the network", "nft": "it changes the network", "ufw": "it changes the network",
	"killall": "it ends programs", "pkill": "it ends programs", "kill": "it ends programs",
}
