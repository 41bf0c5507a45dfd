import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { untilRevisionConverged, untilTokenConverged, waitFor } from "../src";
import * as keys from "../src/keys";

/** A file of the repository; the tests are compiled into build/test. */
const read = (...path: string[]) => readFileSync(join(__dirname, "..", "..", "..", ...path), "utf8");

test("the keys are those of the events package", () => {
  const source = read("pkg", "events", "keys.go");
  for (const [key, name] of [
    [keys.managedLabel, "LabelManaged"],
    [keys.configAnnotation, "AnnotationConfig"],
    [keys.releaseAnnotation, "AnnotationRelease"],
    [keys.convergedAnnotation, "AnnotationConverged"],
    [keys.convergedRevisionAnnotation, "AnnotationConvergedRevision"],
  ]) {
    assert.match(source, new RegExp(`\\b${name} = Prefix \\+ "${key!.replace("etcdroll.dev/", "")}"`));
  }
});

test("the expression is the README's, word for word", () => {
  assert.ok(read("README.md").includes(`pulumi.com/waitFor: "${untilRevisionConverged}"`));
  assert.ok(untilRevisionConverged.includes(keys.convergedRevisionAnnotation));
});

test("with a token both conditions have to hold", () => {
  assert.equal(waitFor(), untilRevisionConverged);
  assert.deepEqual(JSON.parse(waitFor("v1")), [untilTokenConverged("v1"), untilRevisionConverged]);
});

test("every argument of the configuration is a key that the function knows", () => {
  const known = read("docs", "configuration.md");
  for (const key of ["stsName", "namespace", "serviceName", "clientPort", "tls.enabled", "tls.caFile", "tls.certFile", "tls.keyFile",
    "cooldownSeconds", "readyTimeoutSeconds", "healthTimeoutSeconds"]) {
    assert.ok(known.includes(`| \`${key}\` |`), key);
  }
});
