package load

import "fmt"

// Raw is a codec for anything that answers each request with as many bytes as agreed:
// an echo server, for one.
type Raw struct {
	Request []byte
	Answer  int // bytes of an answer; 0 = there is none
}

// Name is "raw".
func (*Raw) Name() string { return "raw" }

// Thread returns a Thread whose sessions all use r.
func (r *Raw) Thread(int, int) Thread { return rawThread{r} }

type rawThread struct{ *Raw }

func (t rawThread) Session() Session { return &rawSession{raw: t.Raw} }

// rawSession counts the bytes of the answer that comes.
type rawSession struct {
	raw *Raw
	got int
}

func (*rawSession) Greet(dst []byte) []byte { return dst }

func (*rawSession) Ready() bool { return true }

func (s *rawSession) Request(r *Request) error {
	r.Bytes, r.NoAnswer = s.raw.Request, s.raw.Answer == 0
	return nil
}

func (s *rawSession) Receive(in []byte, answers *Answers) (int, error) {
	if s.raw.Answer == 0 && len(in) > 0 {
		return 0, &Failed{ClassProtocol, fmt.Errorf("%d bytes, where no answer was expected", len(in))}
	}
	for s.got += len(in); s.got >= s.raw.Answer; s.got -= s.raw.Answer {
		answers.Add(Answer{Body: int64(s.raw.Answer)})
	}
	return len(in), nil
}

func (s *rawSession) End(*Answers) error {
	if s.got > 0 {
		return &Failed{ClassEarlyEnd, fmt.Errorf("the connection ended after %d of %d bytes of an answer", s.got, s.raw.Answer)}
	}
	return nil
}
