package rule

// Classes returns the number of classes that a table keeps.
func Classes(t *Table) int { return t.classes.len() }
