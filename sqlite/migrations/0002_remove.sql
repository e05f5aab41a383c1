-- What it takes to remove sessions, and to know how large they are.

-- What a session's events take and the blobs that they name. An index of the
-- journal; of older sessions it is without the blobs, until it is rebuilt.
ALTER TABLE session ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE session SET bytes = (SELECT coalesce(sum(length(head) + length(body)), 0) FROM event
	WHERE event.tenant = session.tenant AND event.session = session.session);

-- Sessions by the one that began them.
CREATE INDEX session_parent ON session (tenant, parent) WHERE parent <> '';

-- When a blob was last put, of the last day or so: the event that names it may
-- still come. Of blobs that were there before, nobody knows.
CREATE TABLE recent (
	tenant TEXT    NOT NULL,
	hash   BLOB    NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (tenant, hash)
) WITHOUT ROWID;
INSERT INTO recent SELECT tenant, hash, unixepoch() * 1000000 FROM blob WHERE part = 0;
