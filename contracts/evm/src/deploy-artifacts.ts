import FeeOnTransferToken from './artifacts/FeeOnTransferToken.json' with { type: 'json' };
import IllBehavedToken from './artifacts/IllBehavedToken.json' with { type: 'json' };
import LimitOrderProtocol from './artifacts/LimitOrderProtocol.json' with { type: 'json' };
import Multicall3 from './artifacts/Multicall3.json' with { type: 'json' };
import Navigator from './artifacts/Navigator.json' with { type: 'json' };
import OrderFiller from './artifacts/OrderFiller.json' with { type: 'json' };
import RebasingToken from './artifacts/RebasingToken.json' with { type: 'json' };
import TestPool from './artifacts/TestPool.json' with { type: 'json' };
import TestToken from './artifacts/TestToken.json' with { type: 'json' };
import TestWallet from './artifacts/TestWallet.json' with { type: 'json' };
import WrappedNative from './artifacts/WrappedNative.json' with { type: 'json' };

/** What the deployer needs of each contract: its JSON ABI and its creation bytecode. */
export const deployArtifacts = {
  FeeOnTransferToken,
  IllBehavedToken,
  LimitOrderProtocol,
  Multicall3,
  Navigator,
  OrderFiller,
  RebasingToken,
  TestPool,
  TestToken,
  TestWallet,
  WrappedNative,
};
