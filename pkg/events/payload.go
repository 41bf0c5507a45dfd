package events

// Diverged is the payload of TypeDiverged. It tells people why the trigger asks; the function reads none of it.
type Diverged struct {
	// UID, Generation and TargetRevision together identify what is to be rolled: a change back to an older template
	// uses the old revision name again, but never the old generation.
	UID            string `json:"uid"`
	Generation     int64  `json:"generation"`
	TargetRevision string `json:"targetRevision"`
	// Reason is a phrase: why somebody should look.
	Reason string `json:"reason"`
	// Fingerprint stands for everything that the trigger saw of the set and its pods.
	Fingerprint string `json:"fingerprint"`
	// Beat counts the requests for one fingerprint, from 0.
	Beat int64 `json:"beat"`
	// Seq is the sequence that the trigger last saw in the rollout record.
	Seq int64 `json:"seq"`
}

// Continue is the payload of TypeContinue. The sequence that counts is the attribute.
type Continue struct {
	Seq int64 `json:"seq"`
}

// Resume is the payload of TypeResume.
type Resume struct {
	// HaltID is the halt to be cleared, as AnnotationHaltID shows it.
	HaltID string `json:"haltId"`
}

// Fact is the payload of one of the fact types.
type Fact interface {
	// Type is the CloudEvents type.
	Type() string
	// Sequence is that of the rollout record after the step.
	Sequence() int64
	// smaller leaves something out, so that the payload keeps to MaxData; false if there is nothing left to leave out.
	smaller() (Fact, bool)
}

// Stepped says that one step was taken.
type Stepped struct {
	Seq            int64  `json:"seq"`
	TargetRevision string `json:"targetRevision"`
	// Step is the kind of step, such as "Release"; Reason and Message say why it was taken.
	Step    string `json:"step"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Pod is the pod the step was about.
	Pod string `json:"pod,omitempty"`
	// Partition is the value that the step wrote; absent if it wrote none.
	Partition *int32 `json:"partition,omitempty"`
	// Leader is the leading member's id in hex, Term the raft term in decimal, both as text: they do not fit into a
	// JavaScript number.
	Leader string `json:"leader,omitempty"`
	Term   string `json:"term,omitempty"`
}

// Objection is one gate that did not pass.
type Objection struct {
	Gate      string `json:"gate"`
	Subject   string `json:"subject,omitempty"`
	Measured  string `json:"measured,omitempty"`
	Threshold string `json:"threshold,omitempty"`
	Hard      bool   `json:"hard,omitempty"`
}

// Blocked says that a precondition is missing; it clears by itself.
type Blocked struct {
	Seq            int64       `json:"seq"`
	TargetRevision string      `json:"targetRevision"`
	Reason         string      `json:"reason"`
	Message        string      `json:"message,omitempty"`
	Objections     []Objection `json:"objections,omitempty"`
	// Omitted counts the objections that did not fit.
	Omitted int `json:"omitted,omitempty"`
}

// Halted says that a step did not come out right; it needs a person or a new template.
type Halted struct {
	Seq            int64  `json:"seq"`
	TargetRevision string `json:"targetRevision"`
	HaltID         string `json:"haltId"`
	Reason         string `json:"reason"`
	Message        string `json:"message,omitempty"`
	Remedy         string `json:"remedy,omitempty"`
	Pod            string `json:"pod,omitempty"`
	Node           string `json:"node,omitempty"`
}

// MemberTime is what one member cost.
type MemberTime struct {
	Pod string `json:"pod"`
	// Seconds from the release of the pod to its passing all gates again.
	Seconds float64 `json:"seconds"`
}

// Converged is the receipt of a roll.
type Converged struct {
	Seq            int64  `json:"seq"`
	TargetRevision string `json:"targetRevision"`
	// Release is the user's token, if there is one.
	Release string `json:"release,omitempty"`
	// StartedAt and FinishedAt are RFC 3339 times; empty if there was nothing to roll.
	StartedAt  string `json:"startedAt,omitempty"`
	FinishedAt string `json:"finishedAt,omitempty"`
	Steps      int64  `json:"steps"`
	Moves      int    `json:"moves"`
	// UnplannedElections counts the raft terms that our own moves do not explain.
	UnplannedElections int64 `json:"unplannedElections"`
	// WorstLag is the largest number of raft entries that a member was seen behind, in decimal.
	WorstLag  string       `json:"worstLag,omitempty"`
	Attempts  int          `json:"attempts,omitempty"`
	Overrides []string     `json:"overrides,omitempty"`
	Members   []MemberTime `json:"members,omitempty"`
	// Omitted counts the members and overrides that did not fit.
	Omitted int `json:"omitted,omitempty"`
}

// Type is TypeStepped.
func (Stepped) Type() string { return TypeStepped }

// Type is TypeBlocked.
func (Blocked) Type() string { return TypeBlocked }

// Type is TypeHalted.
func (Halted) Type() string { return TypeHalted }

// Type is TypeConverged.
func (Converged) Type() string { return TypeConverged }

// Sequence is that of the rollout record after the step.
func (s Stepped) Sequence() int64 { return s.Seq }

// Sequence is that of the rollout record while blocked.
func (b Blocked) Sequence() int64 { return b.Seq }

// Sequence is that of the rollout record after the halt was written.
func (h Halted) Sequence() int64 { return h.Seq }

// Sequence is that of the rollout record after convergence was written.
func (c Converged) Sequence() int64 { return c.Seq }

func (s Stepped) smaller() (Fact, bool) {
	shorter, ok := halve(s.Message)
	s.Message = shorter
	return s, ok
}

func (b Blocked) smaller() (Fact, bool) {
	if n := len(b.Objections); n > 1 {
		b.Objections = b.Objections[:n-1]
		b.Omitted++
		return b, true
	}
	if shorter, ok := halve(b.Message); ok {
		b.Message = shorter
		return b, true
	}
	if len(b.Objections) == 1 {
		b.Objections, b.Omitted = nil, b.Omitted+1
		return b, true
	}
	return b, false
}

func (h Halted) smaller() (Fact, bool) {
	if len(h.Message) >= len(h.Remedy) {
		shorter, ok := halve(h.Message)
		h.Message = shorter
		return h, ok
	}
	shorter, ok := halve(h.Remedy)
	h.Remedy = shorter
	return h, ok
}

func (c Converged) smaller() (Fact, bool) {
	if n := len(c.Members); n > 0 {
		c.Members = c.Members[:n-1]
		c.Omitted++
		return c, true
	}
	if n := len(c.Overrides); n > 0 {
		c.Overrides = c.Overrides[:n-1]
		c.Omitted++
		return c, true
	}
	return c, false
}

// halve cuts a text to half of its characters and marks the cut; false once nothing is left to cut.
func halve(text string) (string, bool) {
	runes := []rune(text)
	if len(runes) == 0 {
		return "", false
	}
	if len(runes) < 8 {
		return "", true
	}
	return string(runes[:len(runes)/2-3]) + "...", true
}
