// Package codeccheck holds the load generator's codecs against the programs of others whose
// protocols they speak.
package codeccheck
