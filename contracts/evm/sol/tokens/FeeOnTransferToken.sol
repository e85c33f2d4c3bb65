// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {TestToken} from "./TestToken.sol";

/// @title A token that burns a part of each transfer, so that less arrives than was sent
contract FeeOnTransferToken is TestToken {
    uint256 public feeBasisPoints = 100;

    constructor(string memory name, string memory symbol, uint8 decimals_) TestToken(name, symbol, decimals_) {}

    function setFeeBasisPoints(uint256 feeBasisPoints_) external {
        require(feeBasisPoints_ <= 10_000, "fee over everything");
        feeBasisPoints = feeBasisPoints_;
    }

    function _update(address from, address to, uint256 value) internal override {
        uint256 fee = from == address(0) || to == address(0) ? 0 : value * feeBasisPoints / 10_000;
        super._update(from, to, value - fee);
        if (fee > 0) super._update(from, address(0), fee);
    }
}
