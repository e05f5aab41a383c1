// Package journal keeps sessions in memory ([Mem]) and in files of JSON lines
// ([Files]).
package journal
