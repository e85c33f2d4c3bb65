// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {TestToken} from "./TestToken.sol";

/// @title A token that keeps a part of each transfer and says nothing of it: less arrives than the Transfer tells
/// @dev It counts the fees of each account, and takes them off its balance.
contract FeeOnTransferToken is TestToken {
    uint256 public feeBasisPoints = 100;
    mapping(address account => uint256) private _fees;
    uint256 private _totalFees;

    constructor(string memory name, string memory symbol, uint8 decimals_) TestToken(name, symbol, decimals_) {}

    function setFeeBasisPoints(uint256 feeBasisPoints_) external {
        require(feeBasisPoints_ <= 10_000, "fee over everything");
        feeBasisPoints = feeBasisPoints_;
    }

    function balanceOf(address account) public view override returns (uint256) {
        return super.balanceOf(account) - _fees[account];
    }

    function totalSupply() public view override returns (uint256) {
        return super.totalSupply() - _totalFees;
    }

    function _update(address from, address to, uint256 value) internal override {
        if (from != address(0)) {
            uint256 balance = balanceOf(from);
            if (balance < value) revert ERC20InsufficientBalance(from, balance, value);
        }
        super._update(from, to, value);
        if (from == address(0) || to == address(0)) return;
        uint256 fee = value * feeBasisPoints / 10_000;
        _fees[to] += fee;
        _totalFees += fee;
    }
}
