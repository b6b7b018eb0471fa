"""The picture of a load test: what the clients got and what the server was asked, by the second."""

NAMES = {
    "freeze": "Redis frozen", "empty": "Redis emptied", "restart": "Redis restarted", "down": "server fails",
    "kill": "proxy killed", "slow": "server slow",
}


def write(path, curve):
    """Writes an SVG of the events, which are pairs of a time and a kind."""
    start = min(at for at, _ in curve)
    length = int(max(at for at, _ in curve) - start) + 1
    counts = {kind: [0] * length for kind in ("answers", "requests")}
    for at, kind in curve:
        if kind in counts:
            counts[kind][int(at - start)] += 1
    width, height, left, top = 860, 220, 56, 60
    most = max(max(values) for values in counts.values())

    def line(values, color):
        points = " ".join(
            f"{left + index * width / max(1, length - 1):.1f},{top + height - value * height / most:.1f}"
            for index, value in enumerate(values[:-1]))
        return f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{points}"/>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {top + height + 50}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        "<style>text{fill:#333}.g{stroke:#ccc}@media (prefers-color-scheme: dark){text{fill:#ddd}.g{stroke:#555}}</style>",
        f'<text x="{left}" y="20" font-size="15">Eight proxies, one server, one Redis: each second of the chaos</text>',
        f'<text x="{left}" y="40"><tspan style="fill:#1f77b4">— answers to clients</tspan>  '
        f'<tspan style="fill:#d62728">— requests to the server, changes included</tspan></text>',
    ]
    for part in range(5):
        y = top + height - part * height / 4
        parts.append(f'<line class="g" x1="{left}" x2="{left + width}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{int(most * part / 4):,}</text>')
    for index, (at, kind) in enumerate(event for event in curve if event[1] in NAMES):
        x = left + (at - start) * width / length
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + height}" stroke="#999" stroke-dasharray="3 3"/>')
        y = top + height + 14 + 12 * (index % 3)
        parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle" font-size="10">{NAMES[kind]}</text>')
    parts += [line(counts["answers"], "#1f77b4"), line(counts["requests"], "#d62728"), "</svg>"]
    with open(path, "w") as file:
        file.write("\n".join(parts) + "\n")
