-- Sessions, what runs them, and what they spend. Every row belongs to a tenant.
-- Times are microseconds since 1970 in UTC, money is in picodollars.

-- The journal. Not WITHOUT ROWID, since there a row of 1 KB would take a page of
-- its own.
CREATE TABLE event (
	id      INTEGER PRIMARY KEY, -- grows: who waits for events looks after the last
	tenant  TEXT    NOT NULL,
	session TEXT    NOT NULL,
	seq     INTEGER NOT NULL,
	head    BLOB    NOT NULL, -- the envelope, JSON
	body    BLOB    NOT NULL, -- JSON; long strings are blobs
	UNIQUE (tenant, session, seq)
);

-- Which event first had an input's id. An index of the journal.
CREATE TABLE input (
	tenant  TEXT    NOT NULL,
	session TEXT    NOT NULL,
	id      TEXT    NOT NULL,
	seq     INTEGER NOT NULL,
	PRIMARY KEY (tenant, session, id)
) WITHOUT ROWID;

-- Where a session's journal ends, and its line in lists. An index of the journal.
CREATE TABLE session (
	tenant  TEXT    NOT NULL,
	session TEXT    NOT NULL,
	head    INTEGER NOT NULL,
	link    TEXT    NOT NULL, -- of the last event: what the next one has as prev
	agent   TEXT    NOT NULL,
	parent  TEXT    NOT NULL,
	model   TEXT    NOT NULL,
	title   TEXT    NOT NULL,
	status  TEXT    NOT NULL,
	reason  TEXT    NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	steps   INTEGER NOT NULL,
	tokens  INTEGER NOT NULL,
	cost    INTEGER NOT NULL,
	PRIMARY KEY (tenant, session)
) WITHOUT ROWID;

-- Who runs a session. A row stays, so that epochs only grow.
CREATE TABLE lease (
	tenant  TEXT    NOT NULL,
	session TEXT    NOT NULL,
	epoch   INTEGER NOT NULL,
	holder  TEXT    NOT NULL,
	lock    TEXT    NOT NULL, -- the file that the holder's process has locked
	since   INTEGER NOT NULL,
	until   INTEGER NOT NULL, -- 0: released
	PRIMARY KEY (tenant, session)
) WITHOUT ROWID;

CREATE TABLE hold (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	accounts TEXT    NOT NULL, -- names, a JSON array
	amount   INTEGER NOT NULL,
	spent    INTEGER,          -- null until it is settled
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

-- The sums of the holds of an account.
CREATE TABLE account (
	tenant  TEXT    NOT NULL,
	name    TEXT    NOT NULL,
	settled INTEGER NOT NULL,
	held    INTEGER NOT NULL,
	PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

-- Which use has a once-key.
CREATE TABLE once (
	tenant  TEXT NOT NULL,
	key     TEXT NOT NULL,
	session TEXT NOT NULL,
	use     TEXT NOT NULL,
	PRIMARY KEY (tenant, key)
) WITHOUT ROWID;

-- Large byte strings in parts of 256 KiB, so that a range of one is read
-- without the rest.
CREATE TABLE blob (
	tenant TEXT    NOT NULL,
	hash   BLOB    NOT NULL, -- SHA-256 of the whole
	part   INTEGER NOT NULL, -- from 0
	size   INTEGER NOT NULL, -- of the whole
	data   BLOB    NOT NULL,
	PRIMARY KEY (tenant, hash, part)
);

-- One checkpoint a session: a cache.
CREATE TABLE kept (
	tenant  TEXT NOT NULL,
	session TEXT NOT NULL,
	data    BLOB NOT NULL,
	PRIMARY KEY (tenant, session)
);
