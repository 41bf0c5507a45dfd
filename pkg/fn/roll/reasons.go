package roll

// Reason is one of a closed list. Each has one sentence of meaning and one of
// remedy; docs/reasons.md is generated from the list.
type Reason string

// The reasons.
const (
	ReasonConverged           Reason = "Converged"
	ReasonHandedBack          Reason = "HandedBack"
	ReasonStaleEvent          Reason = "StaleEvent"
	ReasonNotManaged          Reason = "NotManaged"
	ReasonGone                Reason = "Gone"
	ReasonStatusStale         Reason = "StatusStale"
	ReasonFoundOpen           Reason = "FoundOpen"
	ReasonReleased            Reason = "Released"
	ReasonRelocked            Reason = "Relocked"
	ReasonDisarmed            Reason = "Disarmed"
	ReasonRecovered           Reason = "Recovered"
	ReasonMoving              Reason = "Moving"
	ReasonPodAway             Reason = "PodAway"
	ReasonSoaking             Reason = "Soaking"
	ReasonPromotion           Reason = "Promotion"
	ReasonForming             Reason = "Forming"
	ReasonResumed             Reason = "Resumed"
	ReasonPaused              Reason = "Paused"
	ReasonShapeUnsupported    Reason = "ShapeUnsupported"
	ReasonConfigInvalid       Reason = "ConfigInvalid"
	ReasonCredentialsInvalid  Reason = "CredentialsInvalid"
	ReasonGatesClosed         Reason = "GatesClosed"
	ReasonNoQuorum            Reason = "NoQuorum"
	ReasonNoneReached         Reason = "NoneReached"
	ReasonMemberSilent        Reason = "MemberSilent"
	ReasonSplitView           Reason = "SplitView"
	ReasonMembershipPending   Reason = "MembershipPending"
	ReasonRevisionMismatch    Reason = "RevisionMismatch"
	ReasonNeverBootstrapped   Reason = "NeverBootstrapped"
	ReasonSickMember          Reason = "SickMember"
	ReasonLeaderUnknown       Reason = "LeaderUnknown"
	ReasonNoCandidate         Reason = "NoCandidate"
	ReasonNotReady            Reason = "NotReady"
	ReasonPodBroken           Reason = "PodBroken"
	ReasonUnschedulable       Reason = "Unschedulable"
	ReasonNotHealthy          Reason = "NotHealthy"
	ReasonPodStuckTerminating Reason = "PodStuckTerminating"
	ReasonPodNotRecreated     Reason = "PodNotRecreated"
	ReasonMoveFailed          Reason = "MoveFailed"
	ReasonAttemptsExhausted   Reason = "AttemptsExhausted"
	ReasonPartitionContention Reason = "PartitionContention"
	ReasonRevisionFlapping    Reason = "RevisionFlapping"
	ReasonDeleteNeeded        Reason = "DeleteNeeded"
)

// Text explains a reason.
type Text struct {
	Reason  Reason
	Meaning string
	Remedy  string
}

const nothing = "Nothing to do."

// Reasons is the closed list in the order a roll meets them.
var Reasons = []Text{
	{ReasonConverged, "Every pod runs the target revision, healthy, and the set is locked.", nothing},
	{ReasonHandedBack, "Our claim on partition was removed, so that the owner can apply without force.", nothing},
	{ReasonStaleEvent, "The event belongs to a chain of steps that another one has overtaken.", nothing},
	{ReasonNotManaged, "The set does not carry the label etcdroll.dev/managed=true.", "Set the label on the StatefulSet, not in its template, if it is meant to be rolled."},
	{ReasonGone, "The set does not exist or is being deleted.", nothing},
	{ReasonStatusStale, "The StatefulSet controller has not yet seen the latest spec.", "Wait; if it lasts, look at kube-controller-manager."},
	{ReasonFoundOpen, "The partition was below replicas although no step of ours was in flight; it was locked.", "Nothing on a set that was just created or adopted; else find out who lowered it, see the field managers of the set."},
	{ReasonReleased, "One pod was released for replacement.", nothing},
	{ReasonRelocked, "The released pod has a successor, and the set is locked again.", nothing},
	{ReasonDisarmed, "A release was taken back before the controller acted on it.", "Nothing; it is planned afresh. If it repeats, look at kube-controller-manager."},
	{ReasonRecovered, "A pod that was broken on an older revision was deleted to be created again.", nothing},
	{ReasonMoving, "Leadership is being moved off the next victim, or the cluster rests after that.", nothing},
	{ReasonPodAway, "The released pod is terminating or not yet created again.", nothing},
	{ReasonSoaking, "The pods are Ready, but not yet for the cool-down.", nothing},
	{ReasonPromotion, "All pods are on target; the controller has not yet promoted the revision.", "Wait; if it lasts, look at kube-controller-manager."},
	{ReasonForming, "No pod is outdated, but the cluster is not healthy yet.", "Look at the pods that are not Ready."},
	{ReasonResumed, "A halt was cleared; all gates are asked again.", nothing},
	{ReasonPaused, "The annotation etcdroll.dev/paused holds back every disruptive step.", "Remove the annotation to go on."},
	{ReasonShapeUnsupported, "The set has a shape that cannot be rolled one guarded pod at a time.", "Use RollingUpdate with maxUnavailable 1 (or unset), or OnDelete, with 1 to 9 replicas, and let scaling finish."},
	{ReasonConfigInvalid, "The configuration has an unknown, missing or contradictory key.", "Mend the key named in the message."},
	{ReasonCredentialsInvalid, "A certificate, key, user or password could not be used.", "Mend the Secret named in the message."},
	{ReasonGatesClosed, "A precondition for the next step is missing.", "Read the named gates and their measured values; it goes on by itself once they pass."},
	{ReasonNoQuorum, "Fewer members answer than make a quorum.", "Bring members back before anything else; nothing is restarted meanwhile. If the message names a broken pod, delete it by hand; it is created from another revision."},
	{ReasonNoneReached, "Pods are Ready, and not one member answers the function.", "Look at the way from the function to the members first: NetworkPolicies, the client port, certificates. The members may be well; restart none."},
	{ReasonMemberSilent, "A pod is Ready, and its own member does not answer.", "Look at that member's log and at the way to it. If its process is dead or hangs, delete the pod by hand; a readiness probe that asks the member would have told."},
	{ReasonSplitView, "Members disagree about who leads or which cluster they belong to.", "Check the network between the members; if cluster ids differ, a member was bootstrapped anew."},
	{ReasonMembershipPending, "The member list has a member that never started.", "Start it, or remove it with etcdctl member remove."},
	{ReasonRevisionMismatch, "Members have applied the same entries and hold different revisions.", "Treat it as data corruption: compare with etcdctl endpoint hashkv and restore the odd member."},
	{ReasonNeverBootstrapped, "No pod has ever been Ready and no member has ever answered.", "Fix the template, then delete the pods (and their empty volumes) so that they are created from it; the lock need not be opened."},
	{ReasonSickMember, "A pod is down on the very revision that it would return to, below pods that must be replaced first.", "Mend that pod; a partition can only update from the highest index down."},
	{ReasonLeaderUnknown, "It is not known which member leads, so no pod is given up.", "Wait for the members to agree."},
	{ReasonNoCandidate, "The next victim leads and no other member can take over.", "Bring another member up to date."},
	{ReasonNotReady, "The replaced pod did not become Ready in time.", "Look at the pod; mend it or the template, then resume."},
	{ReasonPodBroken, "The replaced pod does not start on the target revision.", "Change the template, forward or back; that clears the halt. Delete the broken pod by hand (with the component pod-delete etcdroll does): under RollingUpdate it comes back on the last good revision. Resume only if the cause is elsewhere (registry, node): that tries the same template again."},
	{ReasonUnschedulable, "The replaced pod cannot be scheduled.", "Compare the node selector and the volume's node affinity; change the template or the nodes, then resume."},
	{ReasonNotHealthy, "The replaced pod is Ready, but a member is not healthy.", "Read the named gates; mend the member, then resume."},
	{ReasonPodStuckTerminating, "The released pod does not go away.", "Look at the node named in the message; etcdroll never deletes by force. Then resume."},
	{ReasonPodNotRecreated, "The released pod was not created again.", "Look at the events of the StatefulSet (quota, admission), then resume."},
	{ReasonMoveFailed, "Leadership could not be moved to any candidate.", "Check the members' logs; move it by hand with etcdctl move-leader, then resume."},
	{ReasonAttemptsExhausted, "One pod was tried the allowed number of times for this revision.", "Look at why it came back old or broken, then resume."},
	{ReasonPartitionContention, "Somebody else keeps setting partition during the roll.", "Let the tool named in the message leave spec.updateStrategy.rollingUpdate.partition alone, then resume."},
	{ReasonRevisionFlapping, "The template changed too often within an hour without being rolled out.", "Find what rewrites the template, then resume."},
	{ReasonDeleteNeeded, "A pod must be deleted and we have no right to.", "Run the command in the message. With the component pod-delete etcdroll does so itself."},
}

// TriesAgain says that a resume would meet the very thing that it halted on, as
// long as the template is the same.
func (r Reason) TriesAgain() bool { return r == ReasonPodBroken }

// Explain finds the text of a reason; the zero Text when it is not listed.
func Explain(r Reason) Text {
	for _, t := range Reasons {
		if t.Reason == r {
			return t
		}
	}
	return Text{}
}
