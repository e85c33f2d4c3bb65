export { fieldOf, type Manifest, readOverlay, readText } from './read-manifests.js';
export { type Pod, readEnvironmentOf, readPods } from './read-pods.js';
