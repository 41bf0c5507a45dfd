# The set, and a resource of its own that waits for etcdroll. A wait that fails
# does not taint the set, and the next apply waits again.

terraform {
  required_version = ">= 1.4" # terraform_data
  required_providers {
    kubernetes = { source = "hashicorp/kubernetes", version = ">= 2.20" }
  }
}

variable "namespace" {
  type    = string
  default = "etcd"
}

variable "set" {
  type    = string
  default = "etcd"
}

locals {
  # In statefulset.yaml: the label etcdroll.dev/managed, and no rollingUpdate.
  manifest = yamldecode(file("${path.module}/statefulset.yaml"))
  # Another token for every change of the manifest.
  release = substr(sha256(jsonencode(local.manifest)), 0, 16)
}

resource "kubernetes_manifest" "etcd" {
  manifest = merge(local.manifest, {
    metadata = merge(local.manifest.metadata, {
      annotations = merge(lookup(local.manifest.metadata, "annotations", {}), {
        "etcdroll.dev/release" = local.release
      })
    })
  })
}

resource "terraform_data" "rolled_out" {
  triggers_replace = [local.release]
  depends_on       = [kubernetes_manifest.etcd]

  provisioner "local-exec" {
    environment = { NAMESPACE = var.namespace, NAME = var.set, RELEASE = local.release }
    command     = <<-EOT
      kubectl -n "$NAMESPACE" wait "statefulset/$NAME" --timeout=30m --for=jsonpath='{.metadata.annotations.etcdroll\.dev/converged}'="$RELEASE"
    EOT
  }
}
