CREATE INDEX customers_city ON customers (city);
CREATE INDEX orders_customer ON orders (customer_id);
CREATE INDEX orders_placed ON orders (placed_at);
CREATE INDEX order_lines_order ON order_lines (order_id);
CREATE INDEX order_lines_product ON order_lines (product_id);
