package events

// Prefix is what every label and annotation of etcdroll starts with.
const Prefix = "etcdroll.dev/"

// FieldManager is the server-side-apply field manager of every write that etcdroll makes.
const FieldManager = "etcdroll"

// What a user writes on the StatefulSet.
const (
	// LabelManaged opts a StatefulSet in when its value is "true". It belongs on the set, never in the pod template.
	LabelManaged = Prefix + "managed"
	// AnnotationConfig names a ConfigMap in the set's namespace whose key "config.yaml" configures the roll.
	AnnotationConfig = Prefix + "config"
	// AnnotationPaused forbids new disruptive steps when its value is "true".
	AnnotationPaused = Prefix + "paused"
	// AnnotationRelease is any token without "="; it is copied to AnnotationConverged when this apply has converged.
	AnnotationRelease = Prefix + "release"
	// AnnotationResume carries the id of the halt that a person wants cleared.
	AnnotationResume = Prefix + "resume"
	// AnnotationOverride carries a soft-gate override: gate, target revision, expiry, reason.
	AnnotationOverride = Prefix + "override"
	// AnnotationWave is an integer; sets of a lower wave are finished before one of a higher wave starts. Absent: 0.
	AnnotationWave = Prefix + "wave"
	// AnnotationPriority is an integer; within a wave a higher priority starts first. Absent: 0.
	AnnotationPriority = Prefix + "priority"
	// AnnotationApproved is the update revision that a person lets start, where the trigger requires approval.
	AnnotationApproved = Prefix + "approved"
)

// What the function writes on the StatefulSet.
const (
	// AnnotationPhase is one of the phases below.
	AnnotationPhase = Prefix + "phase"
	// AnnotationConvergedRevision is the update revision that is converged and re-locked.
	AnnotationConvergedRevision = Prefix + "converged-revision"
	// AnnotationConverged is the release token, written together with AnnotationConvergedRevision.
	AnnotationConverged = Prefix + "converged"
	// AnnotationHaltedRevision is the update revision whose roll was halted.
	AnnotationHaltedRevision = Prefix + "halted-revision"
	// AnnotationHaltID identifies one halt; a resume must name it.
	AnnotationHaltID = Prefix + "halt-id"
	// AnnotationReason is the one-word reason why the roll stands still.
	AnnotationReason = Prefix + "reason"
	// AnnotationMessage is the sentence and the remedy for AnnotationReason.
	AnnotationMessage = Prefix + "message"
	// AnnotationRollout is the JSON record of a roll: what cannot be derived from the cluster.
	AnnotationRollout = Prefix + "rollout"
)

// PodRevisionLabel is the label by which the StatefulSet controller says which revision a pod was created from.
const PodRevisionLabel = "controller-revision-hash"

// Values of AnnotationPhase.
const (
	PhaseConverged = "Converged"
	PhaseRolling   = "Rolling"
	PhaseBlocked   = "Blocked"
	PhaseHalted    = "Halted"
	PhasePaused    = "Paused"
)

// Requests: somebody should look at a set.
const (
	// TypeDiverged comes from the trigger: look at this set.
	TypeDiverged = "dev.etcdroll.statefulset.diverged.v1"
	// TypeContinue comes from the function: take the next step. It carries the sequence of the last one.
	TypeContinue = "dev.etcdroll.rollout.continue.v1"
	// TypeResume comes from a person: clear the halt it names, then go on through all gates.
	TypeResume = "dev.etcdroll.rollout.resume.v1"
)

// Facts: something has happened. Nobody has to act on them.
const (
	TypeStepped   = "dev.etcdroll.rollout.stepped.v1"
	TypeBlocked   = "dev.etcdroll.rollout.blocked.v1"
	TypeHalted    = "dev.etcdroll.rollout.halted.v1"
	TypeConverged = "dev.etcdroll.rollout.converged.v1"
)

// Types of Knative's ApiServerSource. They are accepted as hints, so that the source can stand in for the trigger.
const (
	TypeAPIServerAdd       = "dev.knative.apiserver.resource.add"
	TypeAPIServerUpdate    = "dev.knative.apiserver.resource.update"
	TypeAPIServerDelete    = "dev.knative.apiserver.resource.delete"
	TypeAPIServerRefAdd    = "dev.knative.apiserver.ref.add"
	TypeAPIServerRefUpdate = "dev.knative.apiserver.ref.update"
	TypeAPIServerRefDelete = "dev.knative.apiserver.ref.delete"
)

// CloudEvents extension attributes.
const (
	// ExtPartitionKey is the subject again, for brokers that keep order within a key.
	ExtPartitionKey = "partitionkey"
	// ExtSequence is the sequence of the rollout record, a decimal number padded so that it sorts as text.
	ExtSequence = "sequence"
	// ExtNotBefore is an RFC 3339 time in UTC before which the event should not be delivered.
	ExtNotBefore = "notbefore"
	// ExtTraceParent and ExtTraceState carry the W3C trace context.
	ExtTraceParent = "traceparent"
	ExtTraceState  = "tracestate"
)

// Values of the CloudEvents source attribute.
const (
	SourceTrigger  = "/etcdroll/trigger"
	SourceFunction = "/etcdroll/roll-fn"
	SourcePerson   = "/etcdroll/kubectl"
)

// MaxData is the size in bytes of the largest payload that an event of our own types may carry.
const MaxData = 1024
