package charset

import "sync"

// A narrowTable has one byte a character. The languages are those that are
// written in it; bonus decides between tables that fit as well.
type narrowTable struct {
	name  string
	bonus float64
	langs []lang
}

// A wideTable has several bytes a character; common are the first bytes of those
// that are in daily use.
type wideTable struct {
	name   string
	lang   lang
	common [2]byte
	kana   bool
	hangul bool
}

// tables are made at first use, since most runs of the program need none.
var tables = sync.OnceValues(func() ([]narrowTable, []wideTable) {
	return narrowTables(), wideTables()
})

// narrowTables lists the tables with the letters of their languages beyond ASCII,
// the most frequent first.
func narrowTables() []narrowTable {
	polish := alphabet("łęąóżśćńź", true)
	czech := alphabet("íáéěřčšžýůúďťňó", true)
	slovak := alphabet("áíčžýšéúťôľňóďäĺŕ", true)
	hungarian := alphabet("áéőíöóüúű", true)
	romanian := alphabet("ăîâşţ", true)
	croatian := alphabet("čšžćđ", true)
	russian := alphabet("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", false)
	ukrainian := alphabet("оанивітерсклудмпзьябгйчюхїцєшжщфґ", false)
	bulgarian := alphabet("аеиотнрсвлкдпмзъяубгчщжцйшхфюь", false)
	west := []lang{
		alphabet("üäößé", true),         // German
		alphabet("éèàêçôùîâûëïœ", true), // French
		alphabet("óíáéñúü", true),       // Spanish
		alphabet("ãçáéíóõêâúàô", true),  // Portuguese
		alphabet("èàùòìé", true),        // Italian
		alphabet("åäöøæéð", true),       // Nordic
		alphabet("áíðéþóúæöý", true),    // Icelandic
	}
	central := []lang{polish, czech, slovak, hungarian, romanian, croatian}
	return []narrowTable{
		{"windows-1252", 0, west},
		{"windows-1250", -0.5, central},
		{"iso-8859-2", -1, central},
		{"windows-1251", 0, []lang{russian, ukrainian, bulgarian}},
		{"koi8-r", -0.5, []lang{russian}},
		{"koi8-u", -0.7, []lang{ukrainian}},
		{"ibm866", -1, []lang{russian}},
		{"iso-8859-5", -1.5, []lang{russian, bulgarian}},
		{"windows-1254", -2, []lang{alphabet("ıüşçöğİâ", true)}},
		{"windows-1253", -1, []lang{alphabet("αοιετσνηυρπκμλςίάόέγδήχθύφώβξζψϊ", false)}},
		{"windows-1255", -2, []lang{alphabet("יוהלאתרמבשנםדחעקפטגןסזכצךףץ", false)}},
		{"windows-1256", -2, []lang{alphabet("اليمنروبتعةدسفهكحقأجشصطخىذثضئزإغءظآؤ", false)}},
		{"cp852", -2, []lang{polish, czech, hungarian}},
	}
}

// wideTables lists the tables with the most frequent characters of their languages.
func wideTables() []wideTable {
	chinese := signs("的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带花快条院变联言权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程告江语英基派满式李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委早房音火际则首单据导影失拿网香似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏兴照字符编码文件测试中文编码乱码")
	trad := signs("的一是不了在人有我他這中大來上個國到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她裡後小麼心多天而能好都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長知民樣現分將外但身些與高意進把法此實回二理美點月明其種聲全工己話兒者向情部正名定女問力機給等幾很業最間新什打便位因重被走電四第門相次東政海口使教西再平真聽世氣信北少關並內加化由卻代軍產入先山五太水萬市眼體別處總才場師書比住員九笑性通目華報立馬命張活難神數件安表原車白應路期叫死常提感金何更反合放做系計或司利受光王果親界及今京務制解各任至清物台象記邊共風戰干接它許八特覺望直服毛林題建南度統色字請交愛讓認算論百吃義科怎元社術結六功指思非流每青管夫連遠資隊跟帶花快條院變聯言權往展該領傳近留紅治決周保達辦運武半候七必城父強步完革深區即求品士轉量空甚眾技輕程告江語英基派滿式李息寫呢識極令黃德收臉錢黨倒未持取設始版雙歷越史商千片容研像找友孩站廣改議形委早房音火際則首單據導影失拿網香似斯專石若兵弟誰校讀志飛觀爭究包組造落視濟喜離雖壞興照臺灣")
	kanji := signs("のにはをたがでとしれさるいなかもてらりこすまあきっくせけどそえわうよめんちみ日一人年大国本中会事出時上生分者行月見前場自十合今手業間部東高学方長新子対入小作定後内立同回体用文全力書法京三物名下動性気地社代実市理水表明発金二多通当最問制題数")
	korean := signs("이다는의에을가고하를한은지도로기사서그인자대어나리아있시으정일해수들것부전보라상과적제스원게구장만주여경조안신국있면니공유성동와관었중문소우했습세년람위미연선물모없방오화말계되드진회민무할분개생실용러았마트행발명때려요야")
	return []wideTable{
		{name: "gb18030", lang: chinese, common: [2]byte{0xB0, 0xD7}},
		{name: "big5", lang: trad, common: [2]byte{0xA4, 0xC6}},
		{name: "shift_jis", lang: kanji, common: [2]byte{0x88, 0x97}, kana: true},
		{name: "euc-jp", lang: kanji, common: [2]byte{0xB0, 0xCF}, kana: true},
		{name: "euc-kr", lang: korean, hangul: true},
	}
}
