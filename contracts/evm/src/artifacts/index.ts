// Generated from sol/ by `npm run generate`. Do not edit.
import { FeeOnTransferToken } from './FeeOnTransferToken.js';
import { IllBehavedToken } from './IllBehavedToken.js';
import { LimitOrderProtocol } from './LimitOrderProtocol.js';
import { Multicall3 } from './Multicall3.js';
import { Navigator } from './Navigator.js';
import { RebasingToken } from './RebasingToken.js';
import { TestPool } from './TestPool.js';
import { TestToken } from './TestToken.js';
import { WrappedNative } from './WrappedNative.js';

/** What the deployer needs of each contract: its JSON ABI and its creation bytecode. */
export const deployArtifacts = { FeeOnTransferToken, IllBehavedToken, LimitOrderProtocol, Multicall3, Navigator, RebasingToken, TestPool, TestToken, WrappedNative } as const;
