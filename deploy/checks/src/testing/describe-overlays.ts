import { describe, test } from '@jest/globals';
import { findRenderer, type Manifest, type Overlay, overlays, renderOverlay } from '../read-manifests.js';

/**
 * Describes checks of each rendered overlay. If neither kubectl nor kustomize is on the PATH, it skips them with a
 * warning: `npm test` needs neither, and no npm or Maven package brings kustomize alone.
 */
export function describeOverlays(check: (manifests: readonly Manifest[], overlay: Overlay) => void): void {
  if (findRenderer() === undefined) {
    console.warn('SKIPPED: the checks of rendered overlays. They need kubectl or kustomize on the PATH.');
    test.skip('neither kubectl nor kustomize is on the PATH', () => undefined);
    return;
  }
  describe.each(overlays)('the overlay %s', (overlay) => check(renderOverlay(overlay), overlay));
}
