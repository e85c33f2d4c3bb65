import { expect } from '@jest/globals';
import type { PodSpec } from '../read-pods.js';

/** Expects the restricted Pod Security Standard. */
export function expectRestricted(spec: PodSpec): void {
  expect(spec).toMatchObject({ securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } } });
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC', 'initContainers', 'ephemeralContainers'])
    expect(spec[field]).toBeUndefined();
  for (const volume of spec.volumes ?? [])
    expect(['configMap', 'secret', 'emptyDir', 'projected', 'persistentVolumeClaim']).toContain(
      Object.keys(volume).find((key) => key !== 'name'),
    );
  for (const { name, securityContext } of spec.containers)
    expect({ name, securityContext }).toMatchObject({
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    });
}

/** Expects that no container can write to its own file system. */
export function expectReadOnly(spec: PodSpec): void {
  for (const { name, securityContext } of spec.containers)
    expect({ name, securityContext }).toMatchObject({ securityContext: { readOnlyRootFilesystem: true } });
}
