in vec2 p;
flat in vec4 box, inside, edge;
flat in float width;

void main() {
    vec2 from = abs(p - (box.xy + box.zw) * 0.5), reach = (box.zw - box.xy) * 0.5, in_box = from - reach;
    colour = over(inside, covered(max(in_box.x, in_box.y)), vec4(0.0));
    // The edge's middle lies half a pixel inside, where a line of one pixel is sharp; a box without width keeps its edge.
    vec2 on_edge = from - abs(reach - 0.5);
    colour = over(edge, covered(abs(max(on_edge.x, on_edge.y)) - width * 0.5), colour);
}
