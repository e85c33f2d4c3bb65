import { expect } from '@jest/globals';
import type { PodSpec } from '../read-pods.js';

/** The restricted Pod Security Standard, and a file system that cannot be written. */
export function expectRestricted(spec: PodSpec): void {
  expect(spec).toMatchObject({ securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } } });
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC', 'initContainers', 'ephemeralContainers'])
    expect(spec[field]).toBeUndefined();
  for (const volume of spec.volumes ?? [])
    expect(['configMap', 'secret', 'emptyDir', 'projected']).toContain(
      Object.keys(volume).find((key) => key !== 'name'),
    );
  for (const { securityContext } of spec.containers)
    expect(securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
}
