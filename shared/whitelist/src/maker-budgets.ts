import type { MakerLimits } from '@makerbook/contracts-events';
import type { Budget } from '@makerbook/domain';

/** The service's settings of a maker's budgets. */
export interface BudgetSettings {
  readonly ORDER_BUDGET_PER_SECOND: number;
  readonly ORDER_BUDGET_BURST: number;
  readonly CANCEL_BUDGET_PER_SECOND: number;
  readonly CANCEL_BUDGET_BURST: number;
}

/** Cancellations per order: a maker can cancel and replace its orders in less time than it places them. */
const CANCELS_PER_ORDER = 2;

/** A maker's budget of orders: its own limits, or else the service's. */
export function orderBudgetOf(settings: BudgetSettings, limits: MakerLimits): Budget {
  return {
    ratePerSecond: limits.ordersPerSecond ?? settings.ORDER_BUDGET_PER_SECOND,
    burst: limits.ordersBurst ?? settings.ORDER_BUDGET_BURST,
  };
}

/** A maker's budget of cancellations: the service's, or twice its budget of orders if that is more. */
export function cancelBudgetOf(settings: BudgetSettings, limits: MakerLimits): Budget {
  const orders = orderBudgetOf(settings, limits);
  return {
    ratePerSecond: Math.max(settings.CANCEL_BUDGET_PER_SECOND, CANCELS_PER_ORDER * orders.ratePerSecond),
    burst: Math.max(settings.CANCEL_BUDGET_BURST, CANCELS_PER_ORDER * orders.burst),
  };
}
