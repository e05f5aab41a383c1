package register

import "strings"

// sign is the currency of a sign.
func sign(r rune) string {
	switch r {
	case '$':
		return "USD"
	case '€':
		return "EUR"
	case '£':
		return "GBP"
	case '¥', '￥':
		return "¥"
	case '₽':
		return "RUB"
	case '₴':
		return "UAH"
	case '₹':
		return "INR"
	case '₩':
		return "KRW"
	case '₿':
		return "BTC"
	}
	return ""
}

// code is the currency of a code in capitals.
func code(w string) string {
	switch w {
	case "USD", "EUR", "GBP", "PLN", "RUB", "CHF", "CZK", "UAH", "CNY", "JPY", "SEK", "NOK", "DKK", "HUF", "RON", "BGN",
		"CAD", "AUD", "NZD", "INR", "BRL", "MXN", "KRW", "TRY", "KZT", "BYN", "ZAR", "SGD", "HKD", "ILS", "AED", "BTC", "ETH":
		return w
	case "RMB":
		return "CNY"
	}
	return ""
}

// currencyWord is the currency of a word in small letters.
func currencyWord(w string) string {
	switch w {
	case "zł", "zl", "pln", "złoty", "złote", "złotych", "złotego", "złotym", "złotymi", "zloty", "zlote", "zlotych":
		return "PLN"
	case "руб", "р", "рубль", "рубля", "рублей", "рублях", "рублю", "рублями", "rub", "rubli":
		return "RUB"
	case "dollar", "dollars", "bucks", "usd", "доллар", "доллара", "долларов", "dolar", "dolara", "dolarów":
		return "USD"
	case "euro", "euros", "eur", "евро":
		return "EUR"
	case "pound", "pounds", "gbp", "funt", "funtów", "фунтов":
		return "GBP"
	case "yuan", "юань", "юаня", "юаней", "juanów":
		return "CNY"
	case "yen", "йен", "jenów":
		return "JPY"
	case "грн", "гривна", "гривен", "hrywien":
		return "UAH"
	case "frank", "franków", "francs", "франков":
		return "CHF"
	}
	return ""
}

// easternCurrency reads a currency in Chinese that begins t; at is where t is.
func easternCurrency(t string, at int) (string, int) {
	for _, c := range [][2]string{{"元", "CNY"}, {"人民币", "CNY"}, {"円", "JPY"}, {"日元", "JPY"}, {"美元", "USD"}, {"欧元", "EUR"}} {
		if strings.HasPrefix(t, c[0]) {
			return c[1], at + len(c[0])
		}
	}
	return "", 0
}

// scaleWord is the power of ten of a word in small letters; 0: it is none.
func scaleWord(w string) int {
	switch w {
	case "thousand", "tys", "tysiąc", "tysiące", "tysięcy", "тыс", "тысяча", "тысячи", "тысяч":
		return 3
	case "million", "millions", "mln", "milion", "miliony", "milionów", "млн", "миллион", "миллиона", "миллионов": //nolint:misspell // Polish
		return 6
	case "billion", "billions", "bn", "mld", "mlrd", "miliard", "miliardy", "miliardów", "млрд", "миллиард", "миллиарда", "миллиардов":
		return 9
	}
	return 0
}

// unit is the unit of a word, the same in all languages; empty: it is none.
func unit(w string) string {
	switch w {
	case "kg", "g", "mg", "km", "cm", "mm", "m", "ml", "l", "t", "ms", "s", "h", "px", "pt",
		"KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "Hz", "kHz", "MHz", "GHz", "kW", "kWh", "W", "mAh", "Mbps", "Gbps", "rpm", "dpi", "mph":
		return w
	case "kB":
		return "KB"
	}
	if len(w) < 2 {
		return ""
	}
	switch lower(w) {
	case "day", "days", "dzień", "dnia", "dni", "dniach", "день", "дня", "дней", "дн", "сутки", "суток":
		return "day"
	case "week", "weeks", "tydzień", "tygodnia", "tygodnie", "tygodni", "неделя", "недели", "недель", "неделю":
		return "week"
	case "month", "months", "miesiąc", "miesiąca", "miesiące", "miesięcy", "месяц", "месяца", "месяцев", "мес":
		return "month"
	case "year", "years", "rok", "roku", "lata", "lat", "год", "года", "лет":
		return "year"
	case "hour", "hours", "hr", "hrs", "godzina", "godziny", "godzin", "godz", "час", "часа", "часов", "ч":
		return "hour"
	case "minute", "minutes", "min", "mins", "minuta", "minuty", "minut", "минута", "минуты", "минут", "мин":
		return "minute"
	case "second", "seconds", "sec", "secs", "sekunda", "sekundy", "sekund", "sek", "секунда", "секунды", "секунд", "сек":
		return "second"
	case "szt", "sztuka", "sztuki", "sztuk", "pcs", "pieces", "шт", "штук", "штуки":
		return "piece"
	case "gb", "гб":
		return "GB"
	case "mb", "мб":
		return "MB"
	case "кг", "kilogram", "kilograms", "kilogramów", "килограмм", "килограммов":
		return "kg"
	case "км", "kilometers", "kilometres", "kilometrów", "километров": //nolint:misspell // both spellings
		return "km"
	case "см":
		return "cm"
	case "мм":
		return "mm"
	case "inch", "inches", "feet", "miles", "tokens", "bytes", "rows", "lines", "pages", "people", "users", "osób", "osoby", "человек", "строк", "wierszy":
		return lower(w)
	}
	return ""
}

// label says whether a word in small letters makes a fact of the number behind
// it, however small.
func label(w string) bool {
	switch w {
	case "port", "line", "row", "page", "section", "step", "version", "room", "gate", "table", "column", "chapter", "level", "seat",
		"nr", "no", "number", "code", "pin", "suite", "apartment", "flat", "task", "article", "rule", "issue", "pr", "exit", "status",
		"linia", "linii", "wiersz", "wierszu", "strona", "stronie", "strony", "punkt", "pokój", "pokoju", "numer", "kod", "wersja", "art", "poz", "porcie", "portu",
		"порт", "порту", "строка", "строке", "страница", "странице", "пункт", "номер", "код", "версия", "комната", "кабинет", "ст", "кв":
		return true
	}
	return named(w) || calls(w)
}

// calls says whether a word in small letters is followed by a telephone number.
func calls(w string) bool {
	switch w {
	case "tel", "phone", "mobile", "telefon", "kom", "тел", "телефон", "моб":
		return true
	}
	return false
}

// named says whether a word in small letters is followed by an id.
func named(w string) bool {
	switch w {
	case "id", "ticket", "order", "invoice", "reservation", "reservations", "booking", "confirmation", "pnr", "ref", "reference", "flight", "case", "sku",
		"zgłoszenie", "zgłoszenia", "zamówienie", "zamówienia", "faktura", "faktury", "rezerwacja", "rezerwacji",
		"заказ", "заказа", "счёт", "счет", "заявка", "заявки", "бронь", "брони":
		return true
	}
	return w == "code" || w == "kod" || w == "код"
}

// month is the number of a month's name in any case of the languages; short says
// that it is cut short. 0: it is none.
func month(w string) (int, bool) {
	if len(w) < 3 || len(w) > 26 {
		return 0, false
	}
	if !monthly(w[0] | 0x20) {
		return 0, false
	}
	w = lower(w)
	if m := shortMonth(w); m > 0 {
		return m, true
	}
	for _, names := range []func(string) int{englishMonth, polishMonth, russianMonth} {
		if m := names(w); m > 0 {
			return m, false
		}
	}
	return 0, false
}

// monthly says whether the name of a month may begin with a byte: a small letter,
// or that of the other scripts.
func monthly(c byte) bool {
	switch c {
	case 'j', 'f', 'm', 'a', 's', 'o', 'n', 'd', 'l', 'k', 'c', 'w', 'p', 'g', 0xf0, 0xf1: // the last two are Cyrillic
		return true
	}
	return false
}

func shortMonth(w string) int {
	switch w {
	case "jan", "янв":
		return 1
	case "feb", "фев", "февр":
		return 2
	case "mar", "мар":
		return 3
	case "apr", "апр":
		return 4
	case "jun", "июн":
		return 6
	case "jul", "июл":
		return 7
	case "aug", "авг":
		return 8
	case "sep", "sept", "сен", "сент":
		return 9
	case "oct", "окт":
		return 10
	case "nov", "ноя", "нояб":
		return 11
	case "dec", "дек":
		return 12
	}
	return 0
}

func englishMonth(w string) int {
	switch w {
	case "january":
		return 1
	case "february":
		return 2
	case "march":
		return 3
	case "april":
		return 4
	case "may":
		return 5
	case "june":
		return 6
	case "july":
		return 7
	case "august":
		return 8
	case "september":
		return 9
	case "october":
		return 10
	case "november":
		return 11
	case "december":
		return 12
	}
	return 0
}

func polishMonth(w string) int {
	switch w {
	case "styczeń", "stycznia", "styczniu", "styczniem", "styczniowi", "styczen":
		return 1
	case "luty", "lutego", "lutym", "lutemu":
		return 2
	case "marzec", "marca", "marcu", "marcem", "marcowi":
		return 3
	case "kwiecień", "kwietnia", "kwietniu", "kwietniem", "kwietniowi", "kwiecien":
		return 4
	case "maj", "maja", "maju", "majem", "majowi":
		return 5
	case "czerwiec", "czerwca", "czerwcu", "czerwcem", "czerwcowi":
		return 6
	case "lipiec", "lipca", "lipcu", "lipcem", "lipcowi":
		return 7
	case "sierpień", "sierpnia", "sierpniu", "sierpniem", "sierpniowi", "sierpien":
		return 8
	case "wrzesień", "września", "wrześniu", "wrześniem", "wrześniowi", "wrzesien", "wrzesnia", "wrzesniu":
		return 9
	case "październik", "października", "październiku", "październikiem", "październikowi", "pazdziernik", "pazdziernika", "pazdzierniku":
		return 10
	case "listopad", "listopada", "listopadzie", "listopadem", "listopadowi":
		return 11
	case "grudzień", "grudnia", "grudniu", "grudniem", "grudniowi", "grudzien":
		return 12
	}
	return 0
}

func russianMonth(w string) int {
	switch w {
	case "январь", "января", "январе", "январю", "январём", "январем":
		return 1
	case "февраль", "февраля", "феврале", "февралю", "февралём", "февралем":
		return 2
	case "март", "марта", "марте", "марту", "мартом":
		return 3
	case "апрель", "апреля", "апреле", "апрелю", "апрелем":
		return 4
	case "май", "мая", "мае", "маю", "маем":
		return 5
	case "июнь", "июня", "июне", "июню", "июнем":
		return 6
	case "июль", "июля", "июле", "июлю", "июлем":
		return 7
	case "август", "августа", "августе", "августу", "августом":
		return 8
	case "сентябрь", "сентября", "сентябре", "сентябрю", "сентябрём", "сентябрем":
		return 9
	case "октябрь", "октября", "октябре", "октябрю", "октябрём", "октябрем":
		return 10
	case "ноябрь", "ноября", "ноябре", "ноябрю", "ноябрём", "ноябрем":
		return 11
	case "декабрь", "декабря", "декабре", "декабрю", "декабрём", "декабрем":
		return 12
	}
	return 0
}

// suffix says whether a file's name ends so.
func suffix(w string) bool {
	switch w {
	case "go", "py", "js", "ts", "tsx", "jsx", "mjs", "cjs", "rs", "c", "h", "cc", "cpp", "hpp", "java", "kt", "rb", "php", "cs", "swift", "sh", "bash", "ps1", "bat",
		"sql", "md", "txt", "rst", "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "csv", "tsv", "json", "jsonl", "yaml", "yml", "toml", "xml", "html", "htm",
		"css", "scss", "svg", "png", "jpg", "jpeg", "gif", "webp", "zip", "gz", "tar", "tgz", "bz2", "xz", "7z", "log", "ini", "cfg", "conf", "env", "lock", "mod", "sum",
		"proto", "ipynb", "db", "sqlite", "bak", "tmp", "exe", "dll", "so", "bin", "iso", "mp3", "mp4", "wav", "mov", "parquet", "tex", "vue", "lua", "patch", "diff", "eml":
		return true
	}
	return false
}

// topLevel says whether a domain ends so.
func topLevel(w string) bool {
	switch w {
	case "com", "org", "net", "io", "dev", "app", "ai", "edu", "gov", "info", "biz", "cloud", "online", "site", "xyz", "eu", "pl", "ru", "рф", "de", "fr", "cz", "ua", "cn", "jp", "uk", "us", "ca", "ch", "at", "nl", "se", "no", "it", "es", "co", "me", "tv", "local", "internal", "example", "test":
		return true
	}
	return false
}

// folder says whether a path of words alone often begins so.
func folder(w string) bool {
	switch w {
	case "src", "cmd", "pkg", "lib", "internal", "docs", "doc", "test", "tests", "bin", "app", "api", "tools", "scripts", "data", "config", "build", "dist", "etc", "var", "usr", "home", "opt", "tmp":
		return true
	}
	return false
}
