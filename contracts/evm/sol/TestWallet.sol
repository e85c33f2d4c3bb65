// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title A contract wallet of one owner, for tests: anyone may tell it what to do
/// @dev A signature is the owner's 65 bytes, and whatever follows them.
contract TestWallet is IERC1271 {
    enum Answer {
        Honest,
        Reverts,
        /// The right four bytes, and others behind them in the word.
        Dirty,
        /// The right four bytes, and no whole word.
        Short
    }

    event OwnerChanged(address owner);

    address public owner;
    Answer public answer;
    /// @notice Gas that a check burns.
    uint256 public burnt;

    constructor(address owner_) {
        owner = owner_;
    }

    function setOwner(address owner_) external {
        owner = owner_;
        emit OwnerChanged(owner_);
    }

    /// @notice Changes how it answers, with no event.
    function setAnswer(Answer answer_, uint256 burnt_) external {
        (answer, burnt) = (answer_, burnt_);
    }

    function execute(address target, bytes calldata data) external returns (bytes memory) {
        return Address.functionCall(target, data);
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        for (uint256 start = gasleft(); start - gasleft() < burnt;) {}
        require(answer != Answer.Reverts);
        bytes32 word = IERC1271.isValidSignature.selector;
        if (answer == Answer.Dirty) word |= bytes32(uint256(1));
        uint256 size = answer == Answer.Short ? 4 : 32;
        (address signer,,) = ECDSA.tryRecover(digest, signature[:65]);
        if (signer != owner) word = 0;
        assembly ("memory-safe") {
            mstore(0, word)
            return(0, size)
        }
    }
}
