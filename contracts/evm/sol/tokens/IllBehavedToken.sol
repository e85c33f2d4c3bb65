// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {TestToken} from "./TestToken.sol";

/// @title A token that answers badly when told to, for tests of whoever reads or moves tokens
contract IllBehavedToken is TestToken {
    /// @dev How a view answers: as it should, by reverting, with 31 bytes, with 4,097 bytes whose first word is the
    /// right answer, with a million bytes, or by burning all gas it is given.
    enum Answer {
        Honest,
        Reverts,
        TooShort,
        Oversized,
        Enormous,
        BurnsGas
    }

    error Paused();

    Answer public balanceAnswer;
    Answer public allowanceAnswer;
    bool public transfersReturnFalse;
    address private _callbackTarget;
    bytes private _callbackData;
    /// @notice Whether the last callback succeeded, and what it returned.
    bool public callbackSucceeded;
    bytes public callbackResult;

    constructor(string memory name, string memory symbol, uint8 decimals_) TestToken(name, symbol, decimals_) {}

    function setBalanceAnswer(Answer answer) external {
        balanceAnswer = answer;
    }

    function setAllowanceAnswer(Answer answer) external {
        allowanceAnswer = answer;
    }

    function setTransfersReturnFalse(bool value) external {
        transfersReturnFalse = value;
    }

    /// @notice Each transfer from now on first calls the target; the zero address ends that.
    function setCallback(address target, bytes calldata data) external {
        _callbackTarget = target;
        _callbackData = data;
    }

    function balanceOf(address account) public view override returns (uint256) {
        uint256 balance = super.balanceOf(account);
        _answer(balanceAnswer, balance);
        return balance;
    }

    function allowance(address owner, address spender) public view override returns (uint256) {
        // The token's own bookkeeping calls this too: a transfer fails while it answers badly, as with a paused token.
        uint256 value = super.allowance(owner, spender);
        _answer(allowanceAnswer, value);
        return value;
    }

    function transferFrom(address from, address to, uint256 value) public override returns (bool) {
        if (_callbackTarget != address(0)) {
            (callbackSucceeded, callbackResult) = _callbackTarget.call(_callbackData);
        }
        if (transfersReturnFalse) return false;
        return super.transferFrom(from, to, value);
    }

    function _answer(Answer answer, uint256 value) private pure {
        if (answer == Answer.Honest) return;
        if (answer == Answer.Reverts) revert Paused();
        uint256 size = answer == Answer.TooShort ? 31 : answer == Answer.Oversized ? 4097 : 1_000_000;
        bool burns = answer == Answer.BurnsGas;
        assembly {
            if burns { invalid() }
            let at := mload(0x40)
            mstore(at, value)
            return(at, size)
        }
    }
}
