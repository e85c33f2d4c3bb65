import { describe, expect, test } from '@jest/globals';
import { type Manifest, nameOf } from './read-manifests.js';
import { readSources } from './read-sources.js';
import { describeOverlays } from './testing/describe-overlays.js';
import { groupsWithoutSchema, validateManifest } from './validate-manifest.js';

describeOverlays((manifests) => {
  test('matches the schema of each kind and version, and has no field beyond it', async () => {
    const wrong: Record<string, string[]> = {};
    for (const manifest of manifests) {
      const problems = await validateManifest(manifest);
      if (problems.length > 0) wrong[nameOf(manifest)] = problems;
    }
    expect(wrong).toEqual({});
  });
});

describe('a wrong manifest is reported', () => {
  const all = readSources().filter(
    ({ apiVersion }) => !groupsWithoutSchema.some((group) => apiVersion.startsWith(group)),
  );
  const find = (kind: string) => structuredClone(all.find((manifest) => manifest.kind === kind)) as Manifest;

  test.each(['Deployment', 'KafkaTopic', 'Cluster'])('if %s has an unknown field', async (kind) => {
    const manifest = find(kind);
    const broken = { ...manifest, spec: { ...manifest.spec, tpyo: 1 } };
    expect((await validateManifest(broken)).join()).toMatch(/tpyo/);
  });
});
