import type { Alert, Window } from './alert.js';
import { alertsOnChain } from './causes/chain.js';
import { alertsOnDependencies } from './causes/dependencies.js';
import { alertsOnProjection } from './causes/projection.js';
import { alertsOnServices } from './causes/services.js';

/** Alerts on what breaks a promise, or is going to: each names one cause, or the place to look for it. */
export function causeAlerts(window: Window): Alert[] {
  return [
    ...alertsOnServices(window),
    ...alertsOnDependencies(window),
    ...alertsOnChain(window),
    ...alertsOnProjection(window),
  ];
}
