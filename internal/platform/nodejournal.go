package platform

import (
	"slices"

	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/journal"
)

// ownJournal returns the journal of this process, for the pipeline.
func (p *Platform) ownJournal() journal.Journal {
	if p.member != nil {
		return p.member.node.Own()
	}
	return p.journal
}

// nodeJournal is the journal of a node of a cluster, without the secrets of webhooks: they are in
// the file that they have on one machine, which no backup has unless it is asked for them.
type nodeJournal struct {
	*journal.Disk
	secrets hooks.FileSecrets
}

// secretsName is the value of the log that holds the secrets of webhooks.
const secretsName = "secrets/" + hooks.SecretsFile

// Change implements [journal.Journal].
func (n nodeJournal) Change(remove []journal.Span, put ...journal.Value) error {
	at := slices.IndexFunc(put, func(v journal.Value) bool { return v.Name == secretsName })
	if at < 0 {
		return n.Disk.Change(remove, put...)
	}
	if err := n.secrets.Save(put[at].Bytes); err != nil {
		return err
	}
	return n.Disk.Change(remove, slices.Delete(slices.Clone(put), at, at+1)...)
}

// sharedSecrets are the secrets of webhooks at all nodes of a cluster.
type sharedSecrets struct {
	hooks.FileSecrets // of this node
	journal           journal.Journal
}

// Save implements [hooks.Secrets].
func (s sharedSecrets) Save(text []byte) error {
	return s.journal.Put(journal.Value{Name: secretsName, Bytes: text})
}

func (p *Platform) fileSecrets() hooks.FileSecrets {
	return hooks.FileSecrets(secretsDir(p.cfg.Data.Dir))
}

// secrets keeps the secrets of webhooks.
func (p *Platform) secrets() hooks.Secrets {
	if p.member == nil {
		return p.fileSecrets()
	}
	return sharedSecrets{p.fileSecrets(), p.shared}
}
