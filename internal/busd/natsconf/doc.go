// Package natsconf reads the configuration grammar of NATS servers: a superset of
// JSON that people write by hand.
//
// A file is a list of entries `key value`, with `=` or `:` between the two if one
// likes, ended by a newline, `,` or `;`. A value is a map `{}`, an array `[]`, a
// string (bare, 'raw', "escaped", or a block in parentheses), an integer, perhaps
// with a suffix, a float, a boolean, a date, or a variable `$name`. `include 'file'`
// puts the entries of another file in its place. `#` and `//` begin comments.
//
// [ParseFile] returns the tree, each node with the place where it stands, so that
// the code that gives the keys a meaning can report faults with their places. The package knows no
// key but include.
//
// The same text means the same as in the reference implementation, but where that
// one takes what can only be a mistake (an integer that wraps around, a bracket
// that is never closed, an entry with nothing after its `=`): here it is an error.
package natsconf
