"""Pictures of positions: one scene, written as SVG, raster or text."""
