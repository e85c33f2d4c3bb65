import uPlot from 'uplot';

type Described = Pick<uPlot.Options, 'scales' | 'series'> & { readonly axes: uPlot.Axis[] };

/** The colors and axes to draw a chart with. */
export interface Pen {
  /** The current color of a variable of the style sheet. A canvas cannot use the variable itself. */
  readonly color: (name: string) => string;
  /** @param size the size of its labels, in pixels */
  readonly axis: (size: number) => uPlot.Axis;
}

/** A chart that fills its place, and follows the color scheme. @returns a function that shows data in it */
export function openChart(className: string, describe: (pen: Pen) => Described) {
  const element = document.createElement('div');
  element.className = className;
  let chart: uPlot | undefined;
  let shown: uPlot.AlignedData = [[]];
  const draw = () => {
    chart?.destroy();
    chart = element.clientWidth > 0 ? new uPlot(optionsOf(element, describe), shown, element) : undefined;
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  new ResizeObserver(draw).observe(element);
  return (data: uPlot.AlignedData) => {
    shown = data;
    chart?.setData(shown);
    return element;
  };
}

function optionsOf(target: HTMLElement, describe: (pen: Pen) => Described): uPlot.Options {
  const style = getComputedStyle(target);
  const color = (name: string) => {
    target.style.color = `var(${name})`;
    return style.color;
  };
  const axis = (size: number): uPlot.Axis => ({
    size,
    stroke: color('--text-light'),
    grid: { stroke: color('--border'), width: 1 },
    ticks: { show: false },
    values: (_, values) => values.map((value) => value.toLocaleString('en')),
  });
  return {
    width: target.clientWidth,
    height: target.clientHeight,
    legend: { show: false },
    cursor: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
    ...describe({ color, axis }),
  };
}
