// Our own icons, drawn on a grid of 16.
const paths = {
  overview: "M2 9h4v5H2zM6 5h4v9H6zM10 2h4v12h-4z",
  servers: "M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01",
  catalog: "M2 3h2v2H2zM6 4h8M2 7h2v2H2zM6 8h8M2 11h2v2H2zM6 12h8",
  clients: "M6 7a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 14c0-3 2-4.5 4.5-4.5s4.5 1.5 4.5 4.5M11 2.5a2.3 2.3 0 0 1 0 4.4M12 9.8c1.600.5 2.500 2 2.500 4.2",
  tests: "M2 4l1.500 1.500L6 3M2 11l1.500 1.500L6 10M8.500 4.500H14M8.500 11.500H14",
  doctor: "M2 8h3l1.500-3 3 6L11 8h3M8 1.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13z",
  traffic: "M2 8h3l2-5 3 10 2-5h2",
  bench: "M6 2v4L2.5 12.5A1 1 0 0 0 3.4 14h9.2a1 1 0 0 0 .9-1.5L10 6V2M5 2h6M4.5 10h7",
  inbox: "M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4",
  settings: "M2 4h7M13 4h1M2 8h2M8 8h6M2 12h6M12 12h2M9 2.5v3M4.5 6.5v3M8.5 10.5v3",
  search: "M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2zM11 11l3 3",
  copy: "M5 5h8v9H5zM3 11V2h8",
  check: "M3 8.5l3.5 3.5L13 4",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  play: "M5 3l8 5-8 5z",
  stop: "M4 4h8v8H4z",
  pause: "M5 3v10M11 3v10",
  refresh: "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13 9.5A5.5 5.5 0 1 1 6.5 3 4.5 4.5 0 0 0 13 9.5z",
  right: "M6 3l5 5-5 5",
  down: "M3 6l5 5 5-5",
  out: "M6 3H3v10h10v-3M9 3h4v4M13 3L7 9",
  trash: "M3 4h10M6 4V2h4v2M4.5 4l.5 10h6l.5-10",
  edit: "M10 3l3 3-7 7H3v-3z",
  upload: "M8 11V3M5 6l3-3 3 3M3 13h10",
  download: "M8 3v8M5 8l3 3 3-3M3 13h10",
  power: "M8 2v6M4.5 4.5a5 5 0 1 0 7 0",
  menu: "M2 4h12M2 8h12M2 12h12",
  up: "M3 10l5-5 5 5",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return <svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d={paths[name]} /></svg>;
}
