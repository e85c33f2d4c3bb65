const base = {
  testEnvironment: 'node',
  transform: {},
  roots: [
    '<rootDir>/contracts',
    '<rootDir>/shared',
    '<rootDir>/services',
    '<rootDir>/deploy/checks',
    '<rootDir>/deploy/helm',
    '<rootDir>/deploy/local',
    '<rootDir>/deploy/parts',
    '<rootDir>/test',
  ],
  testPathIgnorePatterns: ['/node_modules/'],
};

/**
 * Jest runs on the emitted JavaScript.
 * `unit`: no process, no port. `live`: against real Kafka, Postgres, Redis and a chain, started once for the run.
 */
export default {
  // A machine that is shared may take four times as long as a quiet one.
  testTimeout: 1_200_000,
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['**/dist/**/*.test.js'],
      testPathIgnorePatterns: ['/node_modules/', '\\.live\\.test\\.js$'],
    },
    {
      ...base,
      displayName: 'live',
      testMatch: ['**/dist/**/*.live.test.js'],
      setupFiles: ['<rootDir>/deploy/parts/dist/testing/close-connections.js'],
      globalSetup: '<rootDir>/deploy/parts/dist/testing/start-test-parts.js',
      globalTeardown: '<rootDir>/deploy/parts/dist/testing/stop-test-parts.js',
    },
  ],
};
