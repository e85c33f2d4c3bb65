// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {TestToken} from "./TestToken.sol";

/// @title A token whose balances all change at once, with no event
/// @dev It keeps shares; a balance is shares times `index`, in 1e18.
contract RebasingToken is TestToken {
    uint256 public index = 1e18;

    constructor(string memory name, string memory symbol, uint8 decimals_) TestToken(name, symbol, decimals_) {}

    /// @notice Sets what one share is worth: 1e18 is one token, 5e17 halves every balance.
    function setIndex(uint256 index_) external {
        require(index_ > 0, "index of zero");
        index = index_;
    }

    function balanceOf(address account) public view override returns (uint256) {
        return super.balanceOf(account) * index / 1e18;
    }

    function totalSupply() public view override returns (uint256) {
        return super.totalSupply() * index / 1e18;
    }

    /// @dev Amounts come in tokens and are kept in shares, rounded up so that no one is paid for dust.
    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, (value * 1e18 + index - 1) / index);
    }
}
