package events

// IsPaused reads AnnotationPaused. Only "false" and nothing at all mean no:
// whoever wrote anything else most likely meant to stop us.
func IsPaused(annotations map[string]string) bool {
	value := annotations[AnnotationPaused]
	return value != "" && value != "false"
}
