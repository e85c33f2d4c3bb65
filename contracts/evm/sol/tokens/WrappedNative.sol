// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// @title The native coin as a token, in the style of WETH: wrapping and unwrapping emit no Transfer
contract WrappedNative {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event Deposit(address indexed account, uint256 value);
    event Withdrawal(address indexed account, uint256 value);

    error InsufficientBalance(address account, uint256 balance, uint256 value);
    error InsufficientAllowance(address spender, uint256 allowed, uint256 value);
    error NativeTransferFailed(address to, uint256 value);

    uint8 public constant decimals = 18;
    string public name;
    string public symbol;
    uint256 public totalSupply;
    mapping(address account => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    constructor(string memory name_, string memory symbol_) {
        name = name_;
        symbol = symbol_;
    }

    receive() external payable {
        _deposit(msg.sender, msg.value);
    }

    function deposit() external payable {
        _deposit(msg.sender, msg.value);
    }

    /// @notice Gives out tokens with no coin behind them, for the local chain and tests. Silent but for the Deposit.
    function mint(address to, uint256 value) external {
        _deposit(to, value);
    }

    function withdraw(uint256 value) external {
        _debit(msg.sender, value);
        totalSupply -= value;
        emit Withdrawal(msg.sender, value);
        (bool sent,) = msg.sender.call{value: value}("");
        if (!sent) revert NativeTransferFailed(msg.sender, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        return _transfer(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (from != msg.sender && allowed != type(uint256).max) {
            if (allowed < value) revert InsufficientAllowance(msg.sender, allowed, value);
            // As in WETH, spending lowers the allowance with no Approval event.
            allowance[from][msg.sender] = allowed - value;
        }
        return _transfer(from, to, value);
    }

    function _deposit(address to, uint256 value) private {
        balanceOf[to] += value;
        totalSupply += value;
        emit Deposit(to, value);
    }

    function _debit(address from, uint256 value) private {
        uint256 balance = balanceOf[from];
        if (balance < value) revert InsufficientBalance(from, balance, value);
        balanceOf[from] = balance - value;
    }

    function _transfer(address from, address to, uint256 value) private returns (bool) {
        _debit(from, value);
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        return true;
    }
}
