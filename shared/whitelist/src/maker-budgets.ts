import type { MakerLimits } from '@makerbook/contracts-events';
import type { Budget } from '@makerbook/domain';

/** The service's settings of a maker's budgets. */
export interface BudgetSettings {
  readonly ORDER_BUDGET_PER_SECOND: number;
  readonly ORDER_BUDGET_BURST: number;
  readonly CANCEL_BUDGET_PER_SECOND: number;
  readonly CANCEL_BUDGET_BURST: number;
}

/** A maker who may place that many orders can cancel them, and replace them, in less time. */
const CANCELS_PER_ORDER = 2;

/** A maker's budget of orders: its own limits, and the service's where it has none. */
export function orderBudgetOf(settings: BudgetSettings, limits: MakerLimits): Budget {
  return {
    ratePerSecond: limits.ordersPerSecond ?? settings.ORDER_BUDGET_PER_SECOND,
    burst: limits.ordersBurst ?? settings.ORDER_BUDGET_BURST,
  };
}

/** A maker's budget of cancellations: the service's, or twice the maker's budget of orders where that is more. */
export function cancelBudgetOf(settings: BudgetSettings, limits: MakerLimits): Budget {
  const orders = orderBudgetOf(settings, limits);
  return {
    ratePerSecond: Math.max(settings.CANCEL_BUDGET_PER_SECOND, CANCELS_PER_ORDER * orders.ratePerSecond),
    burst: Math.max(settings.CANCEL_BUDGET_BURST, CANCELS_PER_ORDER * orders.burst),
  };
}
