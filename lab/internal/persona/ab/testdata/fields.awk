# The figures of a report of ab, one a line: what people's scripts take from it.
/^Server Software:/      { print "software", $3; print "words", NF }
/^Server Port:/          { print "port", $3 }
/^Document Path:/        { print "path", $3 }
/^Document Length:/      { print "length", $3 }
/^Concurrency Level:/    { print "concurrency", $3 }
/^Time taken for tests:/ { print "seconds", $5 }
/^Complete requests:/    { print "complete", $3 }
/^Failed requests:/      { print "failed", $3 }
/^ *\(Connect:/          { gsub(/[(),:]/, ""); print "causes", $2, $4, $6, $8 }
/^Non-2xx responses:/    { print "non2xx", $3 }
/^Keep-Alive requests:/  { print "kept", $3 }
/^Total transferred:/    { print "transferred", $3 }
/^Total body sent:/      { print "sent", $4 }
/^HTML transferred:/     { print "html", $3 }
/^Requests per second:/  { print "rate", $4 }
/^Time per request:.*\(mean\)$/ { print "each", $4 }
/^Time per request:.*across/    { print "every", $4 }
/^Transfer rate:/        { print "kbytes", $3 }
/^(Connect|Processing|Waiting|Total): +[0-9]/ { print tolower(substr($1, 1, length($1) - 1)), $2, $3, $4, $5, $6 }
/^ +[0-9]+%/             { sub(/%/, "", $1); print "p" $1, $2 }
