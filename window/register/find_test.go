package register_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/window/register"
)

// facts writes facts as "kind text = norm", without the norm where it is the text.
func facts(text string) []string {
	var out []string
	for _, f := range register.Find(text) {
		line := string(f.Kind) + " " + f.Text
		if f.Norm != f.Text {
			line += " = " + f.Norm
		}
		out = append(out, line)
	}
	return out
}

// C4: what is found, word for word and normalised, in the languages of our users.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"amounts in English", "Refund $54.04, not 1,234.56 USD; cap US$2.5M, fee 3 dollars, £5k, -$7 or -8 EUR.", []string{
			"amount $54.04 = 54.04 USD", "amount 1,234.56 USD = 1234.56 USD", "amount $2.5M = 2500000 USD",
			"amount 3 dollars = 3 USD", "amount £5k = 5000 GBP", "amount -$7 = -7 USD", "amount -8 EUR"}},
		{"amounts in Polish", "Razem 1 234,56 zł, rata 12\u00a0345,00 PLN, zaliczka 2,5 mln zł i 99,90zł.", []string{
			"amount 1 234,56 zł = 1234.56 PLN", "amount 12\u00a0345,00 PLN = 12345 PLN", "amount 2,5 mln zł = 2500000 PLN", "amount 99,90zł = 99.9 PLN"}},
		{"amounts in Russian", "Счёт на 1\u202f234\u202f567,89 ₽, аванс 300 руб., ещё 5 тыс. руб. и ₽1 500, 100 долларов.", []string{
			"amount 1\u202f234\u202f567,89 ₽ = 1234567.89 RUB", "amount 300 руб = 300 RUB", "amount 5 тыс. руб = 5000 RUB",
			"amount ₽1 500 = 1500 RUB", "amount 100 долларов = 100 USD"}},
		{"amounts in Chinese and German", "预算3万元，收入1.2亿元，¥88.50。 Preis €1.234,50", []string{
			"amount 3万元 = 30000 CNY", "amount 1.2亿元 = 120000000 CNY", "amount ¥88.50 = 88.5 ¥", "amount €1.234,50 = 1234.5 EUR"}},
		{"percent", "12,5% and 7 percent, 15 процентов, 20 procent, 10 %, -3%", []string{
			"percent 12,5% = 12.5%", "percent 7 percent = 7%", "percent 15 процентов = 15%", "percent 20 procent = 20%", "percent 10 % = 10%", "percent -3%"}},
		{"dates", "2025-04-01, 02.04.2025, 3 marca 2025, we wrześniu 2026, 4 марта 2025 г., March 5th, 2025, 6 May 2025, 2025年3月7日, 12/25/2024, 5/17/24", []string{
			"date 2025-04-01", "date 02.04.2025 = 2025-04-02", "date 3 marca 2025 = 2025-03-03", "date wrześniu 2026 = 2026-09", "date 4 марта 2025 = 2025-03-04",
			"date March 5th, 2025 = 2025-03-05", "date 6 May 2025 = 2025-05-06", "date 2025年3月7日 = 2025-03-07", "date 12/25/2024 = 2024-12-25", "date 5/17/24 = 2024-05-17"}},
		{"dates without a year", "Meet on June 3rd, spotkanie 5 maja, встреча 6 июня, 8月9日", []string{
			"date June 3rd = --06-03", "date 5 maja = --05-05", "date 6 июня = --06-06", "date 8月9日 = --08-09"}},
		{"moments", "from 2025-04-03T12:30:00Z to 2025-04-04 18:15, at 2:30 pm, 9am, 07:05:09", []string{
			"date 2025-04-03T12:30:00Z", "date 2025-04-04 18:15 = 2025-04-04T18:15", "time 2:30 pm = 14:30", "time 9am = 09:00", "time 07:05:09"}},
		{"ids", "ORD-10422, #W1092119, sara_doe_496, HAT001, 1N99U6, INV/2024/05/17, ticket #123, № 77, reservation XEHMNL", []string{
			"id ORD-10422 = ord-10422", "id #W1092119 = w1092119", "id sara_doe_496", "id HAT001 = hat001", "id 1N99U6 = 1n99u6",
			"id INV/2024/05/17 = inv/2024/05/17", "id ticket #123 = 123", "id № 77 = 77", "id XEHMNL = xehmnl"}},
		{"hashes and accounts", "commit 3F9A2BC, 9d7a3b0c-1c2d-4e5f-8a9b-0c1d2e3f4a5b, PL61 1090 1014 0000 0712 1981 2874, NIP 526-104-08-28, ИНН 7707083893, card 4111 1111 1111 1111", []string{
			"id 3F9A2BC = 3f9a2bc", "id 9d7a3b0c-1c2d-4e5f-8a9b-0c1d2e3f4a5b", "id PL61 1090 1014 0000 0712 1981 2874 = pl61109010140000071219812874",
			"id 526-104-08-28 = 5261040828", "number 7707083893", "id 4111 1111 1111 1111 = 4111111111111111"}},
		{"paths", `See /usr/local/bin/go, "C:\Users\jan\a.txt", src/main.go:42, README.md, cmd/uzda, ~/notes.txt, .github/workflows/ci.yml, __init__.py.`, []string{
			"path /usr/local/bin/go", `path C:\Users\jan\a.txt = c:\users\jan\a.txt`, "path src/main.go:42", "path README.md", "path cmd/uzda",
			"path ~/notes.txt", "path .github/workflows/ci.yml", "path __init__.py"}},
		{"addresses", "https://Example.com/A?b=1&c=200. (see https://x.org/wiki/A_(b)), www.example.com, a.b+c@Example.com, 10.0.0.1, 192.168.1.1:8080, localhost:3000, 00:1A:2B:3C:4D:5E, fe80::1, 10.1.0.0/16, git@github.com:org/repo.git", []string{
			"url https://Example.com/A?b=1&c=200 = https://example.com/A?b=1&c=200", "url https://x.org/wiki/A_(b)", "url www.example.com",
			"email a.b+c@Example.com = a.b+c@example.com", "address 10.0.0.1", "address 192.168.1.1:8080", "address localhost:3000",
			"address 00:1A:2B:3C:4D:5E = 00:1a:2b:3c:4d:5e", "address fe80::1", "address 10.1.0.0/16", "url git@github.com:org/repo.git"}},
		{"telephones", "+48 600 700 800, (415) 555-2671, 555-123-2002, 8 (495) 123-45-67, tel. 22 123 45 67", []string{
			"phone +48 600 700 800 = 48600700800", "phone (415) 555-2671 = 4155552671", "phone 555-123-2002 = 5551232002",
			"phone 8 (495) 123-45-67 = 84951234567", "phone tel. 22 123 45 67 = 221234567"}},
		{"versions", "v1.2.3, 1.2.4-rc.1, v2", []string{"version v1.2.3 = 1.2.3", "version 1.2.4-rc.1", "version v2 = 2"}},
		{"numbers", "Listen on port 22, see line 7, strona 12, пункт 3; 404 errors, 0.125, 30-day limit, 14 dni, 5 GB, 1_000_000 rows, 10,5 kg, 1-20", []string{
			"number port 22 = 22", "number line 7 = 7", "number strona 12 = 12", "number пункт 3 = 3", "number 404", "number 0.125",
			"number 30-day = 30 day", "number 14 dni = 14 day", "number 5 GB", "number 1_000_000 rows = 1000000 rows", "number 10,5 kg = 10.5 kg", "number 1-20"}},
		{"JSON", `{"order_id":"#W10","amount":54.3,"due":"2025-04-03","items":["1151293680","MUGYUB"],"list":[123,456],"path":"C:\\a\\b.txt","text":"a 100\nORD-55"}`, []string{
			"id #W10 = w10", "number 54.3", "date 2025-04-03", "number 1151293680", "id MUGYUB = mugyub", "number 123", "number 456",
			`path C:\\a\\b.txt = c:\a\b.txt`, "number 100", "id ORD-55 = ord-55"}},
		{"CSV", "2024-01-02,ORD-10422,54.30,USD\r\n2024-01-03,ORD-10423,7,EUR\r\n", []string{
			"date 2024-01-02", "id ORD-10422 = ord-10422", "number 54.30", "date 2024-01-03", "id ORD-10423 = ord-10423"}},
		{"Chinese without spaces", "日期2025年3月3日金额100元，订单号ORD-123，电话13812345678，共5个，路径/usr/bin。", []string{
			"date 2025年3月3日 = 2025-03-03", "amount 100元 = 100 CNY", "id ORD-123 = ord-123", "number 13812345678", "path /usr/bin"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := facts(c.text); !slices.Equal(got, c.want) {
				t.Errorf("found\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

// C4: decisions are one line each, also inside JSON, and not what merely uses the word.
func TestDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"Hello. We decided to use SQLite! Thanks.", []string{"We decided to use SQLite!"}},
		{"- You must not call\tthe API twice.\n- Fine.", []string{"You must not call the API twice."}},
		{"I have never seen it. Never delete the volume.", []string{"Never delete the volume."}},
		{"Po naradzie: ustalono, że nie robimy migracji. Dalej.", []string{"Po naradzie: ustalono, że nie robimy migracji."}},
		{"Nie wolno kasować kopii.\nDecyzja: zostaje Postgres", []string{"Nie wolno kasować kopii.", "Decyzja: zostaje Postgres"}},
		{"Мы решили, что г. Москва не нужна. Нельзя менять схему.", []string{"Мы решили, что г. Москва не нужна.", "Нельзя менять схему."}},
		{"решение: без повторов", []string{"решение: без повторов"}},
		{"我们决定使用缓存。好的。", []string{"我们决定使用缓存。"}},
		{`{"a":1,"note":"We agreed on three retries.\nThen lunch.","b":"x"}`, []string{"We agreed on three retries."}},
		{"The decision was hard, said the person who must leave.", nil},
		{strings.Repeat("word ", 500) + "we decided on SQLite " + strings.Repeat("слово ", 500), []string{"*"}},
	} {
		var got []string
		for _, f := range register.Find(c.text) {
			if f.Kind != register.Decision {
				continue
			}
			if len(f.Text) > 200 {
				t.Errorf("a decision of %d bytes: %q", len(f.Text), f.Text)
			}
			if c.want != nil && c.want[0] == "*" && strings.Contains(f.Text, "we decided on SQLite") {
				f.Text = "*"
			}
			got = append(got, f.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%.80q\n  decided %q\n  want    %q", c.text, got, c.want)
		}
	}
}

// C4: what people write with digits, slashes and dots, but can be guessed, is no fact.
func TestNoFacts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "and/or, he/she, TCP/IP, n/a, 24/7, 1/2, A/B, red/green, w/o",
		"yesterday at noon, next Monday, in 5 minutes' walk" + " of 2 other homes",
		"H2O, mp3, Q4, B2B, 3rd, 1st, 2x, utf8, 42, 7, 4-7, ratio 4:5",
		"e.g. this, i.e. that, etc. Mr.Smith, obj.method(), std::string, a::b",
		"#fff, C++, C#, --flag, ..., ---, ***, ===, ~, $, €, %, @, \\, /, ://, @@, 1. 2) [3]",
		"may 3 of them march 2 by 2", "$HOME, $x, €uro", "не более, чем надо; i tak dalej; 以及其他",
		"\x00\x01\xff\xfe\x80", strings.Repeat("A1b2", 600),
	} {
		var got []string
		for _, f := range facts(text) {
			if !strings.HasPrefix(f, "number 5 minutes") {
				got = append(got, f)
			}
		}
		if len(got) > 0 {
			t.Errorf("%.60q has %q", text, got)
		}
	}
}
