CREATE TABLE customers (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	email TEXT NOT NULL UNIQUE,
	city TEXT NOT NULL,
	country TEXT NOT NULL,
	joined_on TEXT NOT NULL,
	closed_on TEXT
);
CREATE TABLE products (
	id INTEGER PRIMARY KEY,
	sku TEXT NOT NULL UNIQUE,
	name TEXT NOT NULL,
	category TEXT NOT NULL,
	price INTEGER NOT NULL,
	active INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE orders (
	id INTEGER PRIMARY KEY,
	number TEXT NOT NULL UNIQUE,
	customer_id INTEGER NOT NULL REFERENCES customers (id),
	placed_at TEXT NOT NULL,
	status TEXT NOT NULL CHECK (status IN ('new', 'paid', 'sent', 'delivered', 'returned', 'cancelled')),
	currency TEXT NOT NULL CHECK (currency IN ('PLN', 'EUR')),
	total INTEGER NOT NULL,
	deleted_at TEXT
);
CREATE TABLE order_lines (
	id INTEGER PRIMARY KEY,
	order_id INTEGER NOT NULL REFERENCES orders (id),
	product_id INTEGER NOT NULL REFERENCES products (id),
	quantity INTEGER NOT NULL,
	unit_price INTEGER NOT NULL
);
CREATE VIEW sales AS
	SELECT o.id AS order_id, o.number, o.placed_at, c.city, o.currency, o.total
	FROM orders o JOIN customers c ON c.id = o.customer_id
	WHERE o.status NOT IN ('cancelled', 'returned') AND o.deleted_at IS NULL;
